# One test program a module (its *_test.cc) and one for what crosses modules (tests/*_test.cc).
find_package(GTest REQUIRED)
include(GoogleTest)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# What tests run is the library, which is optimised; optimising the tests themselves takes minutes of compiling and gains nothing.
# g++ 12 sees writes out of bounds in std::vector's and std::string's own code (GCC bugs 105329, 105651); the library is built without this.
if(ATTEND_SANITIZE)
  set(level -O0)
else()
  set(level -O1)
endif()
set(ATTEND_TEST_OPTIONS ${level} $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)

function(attend_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${ATTEND_TEST_OPTIONS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ATTEND_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ATTEND_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} rapidcheck GTest::gtest GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <rapidcheck/gtest.h>)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# The bf16 dot-product path with plain AVX-512, so that it is tested on processors that lack the instruction.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_library(attend_emulated_bf16 STATIC ${CMAKE_SOURCE_DIR}/src/kernels/isa/emulated_bf16_test.cc)
  target_include_directories(attend_emulated_bf16 PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(attend_emulated_bf16 PRIVATE ${ATTEND_FLAGS_avx512} ${ATTEND_FLAGS_isa})
  set(ATTEND_TEST_LIBS_kernels attend_emulated_bf16)
  set(ATTEND_TEST_LIBS_attention attend_emulated_bf16)
  set(ATTEND_TEST_LIBS_cross attend_emulated_bf16)
endif()

# What a module's tests need beyond the module.
list(APPEND ATTEND_TEST_LIBS_attention attend_cache attend_formats nlohmann_json::nlohmann_json)
list(APPEND ATTEND_TEST_LIBS_text PkgConfig::PCRE2)  # the regular expressions that the pre-tokeniser must equal

set(ATTEND_ALL_MODULES)
foreach(line ${ATTEND_LAYER_LINES})
  string(REGEX MATCH "^L[0-9] ([a-z]+):" unused "${line}")
  if(TARGET attend_${CMAKE_MATCH_1})
    list(APPEND ATTEND_ALL_MODULES attend_${CMAKE_MATCH_1})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${CMAKE_MATCH_1}/*_test.cc)
    list(FILTER sources EXCLUDE REGEX "/emulated_bf16_test\\.cc$")
    if(sources)
      attend_add_test(${CMAKE_MATCH_1}_test SOURCES ${sources}
                      LIBS attend_${CMAKE_MATCH_1} ${ATTEND_TEST_LIBS_${CMAKE_MATCH_1}})
    endif()
  endif()
endforeach()

file(GLOB cross_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*_test.cc)
if(cross_tests)
  attend_add_test(cross_test SOURCES ${cross_tests} LIBS ${ATTEND_ALL_MODULES} ${ATTEND_TEST_LIBS_cross})
  add_dependencies(cross_test attend)
  target_compile_definitions(cross_test PRIVATE ATTEND_CLI="$<TARGET_FILE:attend>")
endif()

# Tests in Python, standard library only: they find the built program in ATTEND.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE python_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*_test.py)
foreach(source ${python_tests})
  get_filename_component(name ${source} NAME_WE)
  add_test(NAME python.${name} COMMAND ${Python3_EXECUTABLE} -B ${source})
  set_tests_properties(python.${name} PROPERTIES ENVIRONMENT "ATTEND=$<TARGET_FILE:attend>" TIMEOUT 600)
endforeach()
