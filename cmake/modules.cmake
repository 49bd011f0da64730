# One static library a module: every src/<module>/**.cc that is not a test. What a module may link stands in
# tools/layers.txt, the same file that the include test reads.
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/layers.txt ATTEND_LAYER_LINES REGEX "^L[0-9]")

set(ATTEND_LIBS_base fmt::fmt tl::expected Threads::Threads)
set(ATTEND_LIBS_formats nlohmann_json::nlohmann_json)
set(ATTEND_LIBS_plan nlohmann_json::nlohmann_json)
set(ATTEND_LIBS_text PkgConfig::UTF8PROC)

# Flags of one instruction set, given to its own translation unit only.
set(ATTEND_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(ATTEND_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
set(ATTEND_FLAGS_avx512_vnni ${ATTEND_FLAGS_avx512} -mavx512vnni)
set(ATTEND_FLAGS_avx512_bf16 ${ATTEND_FLAGS_avx512_vnni} -mavx512bf16)

# Of every set. g++ 12 takes the undefined operand inside its own AVX-512 intrinsics for a mistake of ours. Where every
# access is checked, the arithmetic that led to its address is not: that takes four times as long to compile (docs/adr/0009).
set(ATTEND_FLAGS_isa $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>)
if(ATTEND_SANITIZE MATCHES "address")
  list(APPEND ATTEND_FLAGS_isa -fno-sanitize=pointer-overflow,null,object-size)
endif()

function(attend_isa_flags module)
  foreach(isa scalar avx2 avx512 avx512_vnni avx512_bf16)
    set(source ${CMAKE_SOURCE_DIR}/src/${module}/isa/${isa}.cc)
    if(EXISTS ${source})
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${ATTEND_FLAGS_${isa}};${ATTEND_FLAGS_isa}")
    endif()
  endforeach()
endfunction()

# The files of data/<folder>, which the program knows by name, as a source file of the formats module.
function(attend_embed folder function header)
  set(output ${CMAKE_BINARY_DIR}/generated/${folder}.cc)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/${folder}/*.json)
  add_custom_command(OUTPUT ${output} DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${CMAKE_SOURCE_DIR}/data/${folder} -D OUTPUT=${output}
            -D FUNCTION=${function} -D HEADER=${header} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
  target_sources(attend_formats PRIVATE ${output})
endfunction()

function(attend_add_modules)
  foreach(line ${ATTEND_LAYER_LINES})
    string(REGEX MATCH "^L[0-9] ([a-z]+): ?(.*)$" unused "${line}")
    set(module ${CMAKE_MATCH_1})
    string(REPLACE " " ";" below "${CMAKE_MATCH_2}")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${module}/*.cc)
    list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      list(FILTER sources EXCLUDE REGEX "/isa/avx")
    endif()
    if(module STREQUAL "apps" OR NOT sources)
      continue()
    endif()
    add_library(attend_${module} STATIC ${sources})
    target_include_directories(attend_${module} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    attend_isa_flags(${module})
    if(NOT module STREQUAL "base")
      target_link_libraries(attend_${module} PUBLIC attend_base)
      if(NOT module STREQUAL "tensor" AND TARGET attend_tensor)
        target_link_libraries(attend_${module} PUBLIC attend_tensor)
      endif()
    endif()
    foreach(lower ${below})
      if(TARGET attend_${lower})
        target_link_libraries(attend_${module} PUBLIC attend_${lower})
      endif()
    endforeach()
    target_link_libraries(attend_${module} PUBLIC ${ATTEND_LIBS_${module}})
  endforeach()
endfunction()
