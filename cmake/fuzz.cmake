# The modules that read what strangers wrote count their branches for the fuzzer.
foreach(module base formats text)
  target_compile_options(attend_${module} PRIVATE -fsanitize=fuzzer-no-link)
endforeach()
# One libFuzzer program a reader: fuzz/<name>_fuzz.cc, its corpus in fuzz/corpus/<name>/.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE attend_formats attend_text)
endforeach()
