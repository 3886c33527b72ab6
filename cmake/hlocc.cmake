# SPDX-License-Identifier: Apache-2.0
# The steps of CMakeLists.txt: compiler settings, layers, products, tests, installation.

find_package(Threads REQUIRED)
find_program(HLOCC_CCACHE ccache)
if(HLOCC_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${HLOCC_CCACHE})
endif()

# Flags of every C file. Floating point keeps its IEEE meaning: no contraction, no fast math.
function(hlo_compile_settings)
  set(CMAKE_C_STANDARD 17 PARENT_SCOPE)
  set(CMAKE_C_STANDARD_REQUIRED ON PARENT_SCOPE)
  set(CMAKE_C_EXTENSIONS ON PARENT_SCOPE)
  set(CMAKE_C_VISIBILITY_PRESET hidden PARENT_SCOPE)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON PARENT_SCOPE)
  add_compile_options(-Wall -Wextra -Wvla
                      $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
                      -fno-math-errno -ffp-contract=off -ffunction-sections -fdata-sections
                      "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
  if(HLOCC_WERROR)
    add_compile_options(-Werror)
  endif()
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND (HLOCC_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug"))
    # Without inlining gcc does not see that an output is set whenever the status is OK.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_compile_definitions(HLOCC_VERSION="${PROJECT_VERSION}")
  include_directories(${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  if(HLOCC_SANITIZE)
    list(JOIN HLOCC_SANITIZE "," kinds)
    add_compile_options(-fsanitize=${kinds} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${kinds})
  else()
    add_link_options(-Wl,-z,defs)
  endif()
  if(HLOCC_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
  endif()
  if(HLOCC_COVERAGE)
    add_compile_definitions(HLO_COVERAGE)
    add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
    add_link_options(-fprofile-instr-generate)
  endif()
  add_link_options(-Wl,--gc-sections -Wl,-z,noexecstack -Wl,-z,relro -Wl,--build-id)
endfunction()

# Instruction sets of src/lib: their compiler flags, and bytes of a vector. Other folders get none.
set(HLOCC_ISA_FLAGS_generic "")
set(HLOCC_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(HLOCC_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mbmi -mbmi2
                           -mprefer-vector-width=512)
set(HLOCC_ISA_VECTOR_BYTES_generic 16)
set(HLOCC_ISA_VECTOR_BYTES_avx2 32)
set(HLOCC_ISA_VECTOR_BYTES_avx512 64)
set(HLOCC_ISAS generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND HLOCC_ISAS avx2 avx512)
endif()

# Flags of one file: x_avx2.c and x_avx512.c get those of their instruction set.
function(hlo_kernel file)
  if(file MATCHES "_(avx2|avx512)\\.c$")
    set(flags ${HLOCC_ISA_FLAGS_${CMAKE_MATCH_1}})
  endif()
  # Elementwise functions: exceptions are masked, so the sides of a select may both be computed.
  if(file MATCHES "/(math|scatter)_[a-z0-9]+\\.c$")
    list(APPEND flags -fno-trapping-math)
  endif()
  # Factorisations, Fourier transforms, attention: rounding is theirs to choose, so a product and a sum may be
  # one instruction.
  if(file MATCHES "/(lapack|fft_lines|attention)_[a-z0-9]+\\.c$")
    list(APPEND flags -ffp-contract=fast -fno-trapping-math)
  endif()
  if(file MATCHES "_avx[0-9]+\\.c$" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${file} PROPERTIES HEADER_FILE_ONLY ON)
  else()
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-O3;${flags}")
  endif()
endfunction()

# All C files of a layer that belong to the library.
function(hlo_sources layer out)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/*.c)
  list(FILTER files EXCLUDE REGEX "_(test|fuzz)\\.c$")
  list(FILTER files EXCLUDE REGEX "/(cli|dev)/main\\.c$")
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# One object library hlocc_<layer>; nothing while the layer has no sources.
function(hlo_layer layer)
  hlo_sources(${layer} files)
  if(NOT files)
    return()
  endif()
  if(layer STREQUAL lib)
    foreach(file IN LISTS files)
      hlo_kernel(${file})
    endforeach()
    set(variants ${files})
    list(FILTER variants INCLUDE REGEX "_isa\\.c$")
    list(FILTER files EXCLUDE REGEX "_isa\\.c$")
    foreach(isa IN LISTS HLOCC_ISAS)
      add_library(hlocc_lib_${isa} OBJECT ${variants})
      target_compile_options(hlocc_lib_${isa} PRIVATE ${HLOCC_ISA_FLAGS_${isa}})
      target_compile_definitions(hlocc_lib_${isa} PRIVATE HLO_ISA=${isa}
                                 HLO_ISA_VECTOR_BYTES=${HLOCC_ISA_VECTOR_BYTES_${isa}})
    endforeach()
  endif()
  if(layer MATCHES "^(base|interp)$")
    # Elementwise loops, for the vectoriser. Exceptions are masked, so comparisons may be speculated.
    list(FILTER files INCLUDE REGEX "/(base/dtype|base/copy|ref_(int|float|complex|select|index_rows))\\.c$")
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
    hlo_sources(${layer} files)
  endif()
  add_library(hlocc_${layer} OBJECT ${files})
endfunction()

# The object files of a layer; src/lib has more, one set for each instruction set.
function(hlo_layer_objects layer out)
  set(objects $<TARGET_OBJECTS:hlocc_${layer}>)
  if(layer STREQUAL lib)
    foreach(isa IN LISTS HLOCC_ISAS)
      list(APPEND objects $<TARGET_OBJECTS:hlocc_lib_${isa}>)
    endforeach()
  endif()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

function(hlo_link_system target)
  target_link_libraries(${target} PRIVATE m Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

function(hlo_export target map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
endfunction()

# Lets a shared library load on systems with glibc 2.17: see glibc_baseline.c. Sanitizers need the
# functions that they replace.
function(hlo_glibc_baseline target)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR HLOCC_SANITIZE OR HLOCC_FUZZ OR HLOCC_COVERAGE)
    return()
  endif()
  include(CheckSymbolExists)
  check_symbol_exists(__GLIBC__ features.h HLOCC_GLIBC)
  if(NOT HLOCC_GLIBC)
    return()
  endif()
  set(source ${CMAKE_SOURCE_DIR}/cmake/glibc_baseline.c)
  file(STRINGS ${source} lines REGEX "^(OLD|int __wrap_.*;$)")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  target_sources(${target} PRIVATE ${source})
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^(OLD\\(|int __wrap_)([a-z_0-9]+).*" "\\2" name "${line}")
    target_link_options(${target} PRIVATE -Wl,--wrap=${name})
  endforeach()
  # Before 2.34 these were libraries of their own. They are named in full, as newer systems have only
  # their run-time names, and kept though nothing is found in them.
  target_link_options(${target} PRIVATE -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0
                      -Wl,--pop-state)
  set_property(GLOBAL APPEND PROPERTY HLOCC_BASELINE_LIBRARIES $<TARGET_FILE:${target}>)
endfunction()

# libhlocc_all.a (internal), libhlocc.so (C API), the PJRT plugin and the command line tools: each as
# soon as its sources exist. Of the archive, linkers take what is asked for.
function(hlo_products)
  set(all "")
  set(plugin "")
  foreach(layer IN LISTS HLOCC_LAYERS)
    if(TARGET hlocc_${layer})
      hlo_layer_objects(${layer} objects)
      list(APPEND all ${objects})
      if(NOT layer STREQUAL capi)
        list(APPEND plugin ${objects})
      endif()
    endif()
  endforeach()
  if(NOT all)
    return()
  endif()
  hlo_sources(cli cli)
  hlo_sources(dev dev)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/cmd_compile.c PROPERTIES COMPILE_DEFINITIONS
                              HLOCC_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
  add_library(hlocc_all STATIC ${all} ${cli} ${dev})
  target_link_libraries(hlocc_all PUBLIC m Threads::Threads ${CMAKE_DL_LIBS})

  # What programs that were compiled ahead of time are linked with; linkers take what is asked for.
  hlo_sources(rt rt)
  hlo_layer_objects(lib lib)
  add_library(hlocc_rt STATIC $<TARGET_OBJECTS:hlocc_base> ${lib}
              $<TARGET_OBJECTS:hlocc_ir> ${rt})
  target_link_libraries(hlocc_rt PUBLIC m Threads::Threads ${CMAKE_DL_LIBS})

  if(TARGET hlocc_capi)
    add_library(hlocc SHARED ${all})
    set_target_properties(hlocc PROPERTIES VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(hlocc INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    hlo_link_system(hlocc)
    hlo_export(hlocc ${CMAKE_SOURCE_DIR}/cmake/libhlocc.map)
    hlo_glibc_baseline(hlocc)
  endif()
  if(TARGET hlocc_pjrt)
    add_library(pjrt_plugin MODULE ${plugin})
    set_target_properties(pjrt_plugin PROPERTIES PREFIX "" OUTPUT_NAME pjrt_c_api_hlocc_plugin)
    hlo_link_system(pjrt_plugin)
    hlo_export(pjrt_plugin ${CMAKE_SOURCE_DIR}/cmake/plugin.map)
    hlo_glibc_baseline(pjrt_plugin)
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.c)
    add_executable(hlocc_cli ${CMAKE_SOURCE_DIR}/src/cli/main.c)
    set_target_properties(hlocc_cli PROPERTIES OUTPUT_NAME hlocc)
    target_link_libraries(hlocc_cli PRIVATE hlocc_all)
    add_executable(hlocc_dev ${CMAKE_SOURCE_DIR}/src/dev/main.c)  # not installed
    set_target_properties(hlocc_dev PROPERTIES OUTPUT_NAME hlocc-dev)
    target_link_libraries(hlocc_dev PRIVATE hlocc_all)
  endif()
endfunction()

# examples/standalone: a program as plain C, written by the tool, and a caller of it.
function(hlo_standalone_example)
  set(source ${CMAKE_SOURCE_DIR}/examples/c/softmax.mlir)
  set(folder ${CMAKE_BINARY_DIR}/standalone)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/softmax.c ${folder}/softmax.h
    COMMAND hlocc_cli compile --backend=native --emit=c --header=${folder}/softmax.h
            -o ${folder}/softmax.c ${source}
    DEPENDS hlocc_cli ${source} VERBATIM)
  set_source_files_properties(${folder}/softmax.c PROPERTIES COMPILE_OPTIONS
    "-std=gnu17;-ffp-contract=off;-fno-math-errno;-fno-trapping-math;-fno-strict-aliasing;-fwrapv;-w")
  add_executable(example_standalone
    ${CMAKE_SOURCE_DIR}/examples/standalone/main.c ${folder}/softmax.c ${folder}/softmax.h)
  target_include_directories(example_standalone PRIVATE ${folder})
  target_link_libraries(example_standalone PRIVATE m)
  set_target_properties(example_standalone PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  add_test(NAME example_standalone COMMAND example_standalone)
  set_tests_properties(example_standalone PROPERTIES LABELS "example;unit")
endfunction()

# Every other examples/**/*.c is a program of its own, built against the public library and run by ctest.
function(hlo_examples)
  if(NOT TARGET hlocc)
    return()
  endif()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.c)
  list(FILTER files EXCLUDE REGEX /standalone/)
  if(TARGET hlocc_cli)
    hlo_standalone_example()
  endif()
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(example_${name} ${file})
    set_target_properties(example_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE hlocc)
    hlo_link_system(example_${name})
    add_test(NAME example_${name} COMMAND example_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(example_${name} PROPERTIES LABELS example
      ENVIRONMENT "PJRT_PLUGIN_PATH=${CMAKE_BINARY_DIR}/lib/pjrt_c_api_hlocc_plugin.so")
  endforeach()
endfunction()

# tests/capi/hpp_test.cc, an application in C++, where there is a compiler of C++.
function(hlo_cpp_test)
  if(NOT TARGET hlocc OR NOT CMAKE_CXX_COMPILER)
    return()
  endif()
  add_executable(test_capi_hpp ${CMAKE_SOURCE_DIR}/tests/capi/hpp_test.cc)
  set_target_properties(test_capi_hpp PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  target_link_libraries(test_capi_hpp PRIVATE hlocc)
  hlo_link_system(test_capi_hpp)
  add_test(NAME capi/hpp COMMAND test_capi_hpp)
  set_tests_properties(capi/hpp PROPERTIES LABELS unit)
endfunction()

# Programs that find a processor with AMX: where there is none its instructions are emulated.
function(hlo_emulate_amx)
  foreach(target IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/codegen)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/codegen/amx_emulator.c)
      target_link_options(${target} PRIVATE
                          -Wl,--wrap=hlo_cpu_read_features,--wrap=pthread_sigmask)
    endif()
  endforeach()
endfunction()

# Every src/**/x_test.c is one executable and one ctest entry; x_zydis_test.c needs the decoder Zydis,
# x_jaxlib_test.c the headers of jaxlib and a C++ compiler.
# No test has a time limit of its own: ctest's, 25 minutes, ends what hangs, and a busy machine passes.
function(hlo_unit_tests)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  find_library(CMOCKA_LIBRARY cmocka)
  if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY)
    message(STATUS "cmocka not found: unit tests are not built (tools/install_deps.sh installs it)")
    return()
  endif()
  find_path(ZYDIS_INCLUDE_DIR Zydis/Zydis.h)
  find_library(ZYDIS_LIBRARY Zydis)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_test.c)
  if(NOT ZYDIS_INCLUDE_DIR OR NOT ZYDIS_LIBRARY)
    message(STATUS "Zydis not found: encodings are not checked (tools/install_deps.sh installs it)")
    list(FILTER files EXCLUDE REGEX "_zydis_test\\.c$")
  endif()
  if(NOT HLOCC_JAXLIB_INCLUDE_DIR OR NOT CMAKE_CXX_COMPILER)
    message(STATUS "jaxlib or a C++ compiler not found: handlers in C++ are not tested")
    list(FILTER files EXCLUDE REGEX "_jaxlib_test\\.c$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")  # they run what they make
    list(FILTER files EXCLUDE REGEX "/codegen/(x86|jit)/")
  endif()
  foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${file})
    string(REGEX REPLACE "_test\\.c$" "" name ${name})
    string(REPLACE "/" "_" target ${name})
    add_executable(test_${target} ${file})
    set_target_properties(test_${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    target_include_directories(test_${target} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
    target_link_libraries(test_${target} PRIVATE hlocc_all ${CMOCKA_LIBRARY})
    target_link_options(test_${target} PRIVATE -Wl,--no-gc-sections)  # quicker to link
    if(target MATCHES "_zydis$")
      target_include_directories(test_${target} SYSTEM PRIVATE ${ZYDIS_INCLUDE_DIR})
      target_link_libraries(test_${target} PRIVATE ${ZYDIS_LIBRARY})
    endif()
    if(target MATCHES "_jaxlib$")
      get_filename_component(folder ${file} DIRECTORY)
      target_sources(test_${target} PRIVATE ${folder}/jaxlib_handlers.cc)
      target_include_directories(test_${target} SYSTEM PRIVATE ${HLOCC_JAXLIB_INCLUDE_DIR})
    endif()
    add_test(NAME ${name} COMMAND test_${target} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS unit)
  endforeach()
  # These take long: they belong to check-ci.
  set_tests_properties(codegen/c/build codegen/math/accuracy PROPERTIES LABELS ci)
  # The tool on a processor with AMX, for whole programs.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_executable(hlocc_amx ${CMAKE_SOURCE_DIR}/src/cli/main.c)
    set_target_properties(hlocc_amx PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    target_link_libraries(hlocc_amx PRIVATE hlocc_all)
    hlo_emulate_amx(hlocc_amx test_codegen_x86_tile)
  endif()
  hlo_emulate_amx(test_codegen_vir_guard)
  hlo_abi_checks(pjrt test_pjrt_abi)
  hlo_abi_checks(ffi test_ffi_abi test_ffi_handlers_jaxlib)
  # The interface on devices whose memory the host cannot access, and whose operations end late.
  foreach(test buffer execute layout memory pieces)
    add_test(NAME pjrt/${test}_slow COMMAND test_pjrt_${test} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(pjrt/${test}_slow PROPERTIES LABELS unit
                         ENVIRONMENT HLOCC_DEVICE_BACKEND=slow)
  endforeach()
  foreach(test load hosts)
    if(TARGET test_pjrt_${test})
      add_dependencies(test_pjrt_${test} pjrt_plugin)
      set_tests_properties(pjrt/${test} PROPERTIES ENVIRONMENT
                           "HLOCC_LIBRARY_PATH=$<TARGET_FILE:pjrt_plugin>")
    endif()
  endforeach()
endfunction()

# bench/pjrt_bench, which times any PJRT plugin through its C interface, the plugin of bench/jit.py
# that compiles nothing, and the foreign function of bench/runtime.py.
function(hlo_benchmarks)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/pjrt_bench*.c)
  add_executable(pjrt_bench ${files})
  set_target_properties(pjrt_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_link_libraries(pjrt_bench PRIVATE hlocc_all)
  foreach(module memo_plugin empty_handler)
    add_library(${module} MODULE ${CMAKE_SOURCE_DIR}/bench/${module}.c)
    set_target_properties(${module} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                          ${CMAKE_BINARY_DIR}/bench)
  endforeach()
  target_include_directories(memo_plugin PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(empty_handler PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(memo_plugin PRIVATE ${CMAKE_DL_LIBS})
endfunction()

# Turns the table of ABI facts into the static assertions that the targets include.
function(hlo_abi_checks interface)
  set(table ${CMAKE_SOURCE_DIR}/tests/data/pjrt-abi.tsv)
  set(tool ${CMAKE_SOURCE_DIR}/tools/pjrt_abi_checks.py)
  set(checks ${CMAKE_BINARY_DIR}/generated/${interface}_abi_checks.inc)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${checks} DEPENDS ${table} ${tool}
                     COMMAND ${Python3_EXECUTABLE} ${tool} ${table} ${interface} ${checks})
  add_custom_target(${interface}_abi_checks DEPENDS ${checks})
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      add_dependencies(${target} ${interface}_abi_checks)
      target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
    endif()
  endforeach()
endfunction()

# Every src/**/x_fuzz.c is one libFuzzer program fuzz_<folders>_x.
function(hlo_fuzz_targets)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_fuzz.c)
  foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${file})
    string(REGEX REPLACE "_fuzz\\.c$" "" name ${name})
    string(REPLACE "/" "_" name ${name})
    add_executable(fuzz_${name} ${file})
    set_target_properties(fuzz_${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_${name} PRIVATE hlocc_all)
  endforeach()
endfunction()

# The corpus of every fuzz target is a unit test: tests/corpus/<folders>_x, found inputs included.
function(hlo_corpus_tests)
  add_custom_target(corpus_replays)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_fuzz.c)
  foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${file})
    string(REGEX REPLACE "_fuzz\\.c$" "" name ${name})
    string(REPLACE "/" "_" name ${name})
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/corpus/${name})
      continue()
    endif()
    add_executable(replay_${name} ${file} ${CMAKE_SOURCE_DIR}/tools/fuzz_replay.c)
    set_target_properties(replay_${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    target_link_libraries(replay_${name} PRIVATE hlocc_all)
    add_dependencies(corpus_replays replay_${name})
    add_test(NAME corpus/${name} COMMAND replay_${name} tests/corpus/${name}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(corpus/${name} PROPERTIES LABELS unit)
  endforeach()
endfunction()

# <tool>_path, for tests that are scripts: a script itself where an emulator has to run the tool.
function(hlo_tool_path tool)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set(path ${CMAKE_BINARY_DIR}/test/emulated_${tool})
    file(GENERATE OUTPUT ${path} CONTENT "#!/bin/sh\nexec ${emulator} $<TARGET_FILE:${tool}> \"$@\"\n"
         FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set(${tool}_path ${path} PARENT_SCOPE)
  else()
    set(${tool}_path $<TARGET_FILE:${tool}> PARENT_SCOPE)
  endif()
endfunction()

# The test <name>: a Python script below tests/ with its arguments.
function(hlo_script_test name label script)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()

# The tool from outside and the back ends against each other (label unit; ci for what takes longer),
# golden files (label golden) and the pytest sets under tests/jax (labels jax, smoke).
function(hlo_text_tests)
  hlo_script_test(tools/size_report unit tools/size_report_test.py)
  get_property(libraries GLOBAL PROPERTY HLOCC_BASELINE_LIBRARIES)
  if(libraries)
    hlo_script_test(tools/glibc unit tools/glibc_test.py ${libraries})
  endif()
  if(TARGET hlocc_cli)
    hlo_tool_path(hlocc_cli)
    hlo_tool_path(hlocc_dev)
    hlo_script_test(cli/tool unit cli/cli_test.py ${hlocc_cli_path})
    # Built everywhere; runs where there is a GPU.
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ptx/*.tile)
    add_executable(gpu_run_kernels ${CMAKE_SOURCE_DIR}/tests/gpu/run_kernels.c)
    set_target_properties(gpu_run_kernels PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    target_link_libraries(gpu_run_kernels PRIVATE hlocc_all)
    add_test(NAME gpu/kernels COMMAND gpu_run_kernels ${kernels})
    set_tests_properties(gpu/kernels PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
    # The same program with a driver that needs no GPU.
    if(CMOCKA_LIBRARY)
      add_library(gpu_fake_cuda MODULE ${CMAKE_SOURCE_DIR}/tests/gpu/fake_cuda.c)
      set_target_properties(gpu_fake_cuda PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test C_VISIBILITY_PRESET default)
      target_link_libraries(gpu_fake_cuda PRIVATE hlocc_all ${CMOCKA_LIBRARY})
      hlo_script_test(gpu/launcher unit gpu/fake_cuda_test.py $<TARGET_FILE:gpu_run_kernels>
                      $<TARGET_FILE:gpu_fake_cuda>)
    endif()
    hlo_script_test(ptx/kernels unit ptx/ptx_test.py ${hlocc_cli_path})
    set_tests_properties(ptx/kernels PROPERTIES SKIP_RETURN_CODE 77)  # printed; ptxas is not there
    hlo_script_test(cli/dev unit cli/dev_test.py ${hlocc_cli_path} ${hlocc_dev_path})
    hlo_script_test(cli/hlo_roundtrip unit cli/hlo_roundtrip.py --run ${hlocc_cli_path}
                    add_scalar cholesky_256 topk32_1024x4096 maxpool2x2 while_1e4_vec100
                    mlp_train_digits lstm_scan_128 partial_auto_shard_map all_to_all_8)
    hlo_script_test(codegen/native unit codegen/backends_test.py ${hlocc_cli_path} native)
    hlo_script_test(codegen/backends ci codegen/backends_test.py ${hlocc_cli_path})
    hlo_script_test(codegen/products ci codegen/products_test.py ${hlocc_cli_path})
    hlo_script_test(codegen/narrow_products unit codegen/products_test.py ${hlocc_cli_path} --narrow)
    if(TARGET hlocc_amx)
      hlo_script_test(codegen/narrow_products_amx ci codegen/products_test.py
                      $<TARGET_FILE:hlocc_amx> --narrow)
    endif()
    hlo_script_test(codegen/sums unit codegen/sums_test.py ${hlocc_cli_path})
    hlo_script_test(codegen/orders unit codegen/orders_test.py ${hlocc_cli_path})
    hlo_script_test(codegen/temporary_limit unit codegen/temporary_limit_test.py ${hlocc_cli_path})
    if(NOT HLOCC_SANITIZE)  # programs of others link the library here, without a sanitizer
      hlo_script_test(codegen/ahead_of_time ci codegen/ahead_of_time_test.py ${hlocc_cli_path}
                      $<TARGET_FILE:hlocc_rt>)
    endif()
    hlo_script_test(codegen/random_modules unit codegen/random_modules.py ${hlocc_cli_path} --count=120)
    hlo_script_test(codegen/random_operands unit codegen/op_properties.py ${hlocc_cli_path})
  endif()
  if(TARGET hlocc_cli AND EXISTS ${CMAKE_SOURCE_DIR}/tests/golden)
    add_test(NAME golden COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/golden.py
             --tool ${hlocc_cli_path} ${CMAKE_SOURCE_DIR}/tests/golden)
    set_tests_properties(golden PROPERTIES LABELS golden)
  endif()
  if(TARGET pjrt_plugin AND EXISTS ${CMAKE_SOURCE_DIR}/tests/jax)
    hlo_pytest(jax_smoke smoke "jax;smoke")
    hlo_pytest(jax_full "not smoke and not programs" jax)
    hlo_pytest(jax_programs programs "jax;programs")
  endif()
endfunction()

function(hlo_pytest name marker labels)
  add_test(NAME ${name} COMMAND ${HLOCC_PYTHON} -m pytest -q -p no:cacheprovider -m ${marker}
           ${CMAKE_SOURCE_DIR}/tests/jax)
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" ENVIRONMENT
    "HLOCC_LIBRARY_PATH=$<TARGET_FILE:pjrt_plugin>;PYTHONPATH=${CMAKE_SOURCE_DIR}/python;TOOL_OF_TESTS=${CMAKE_BINARY_DIR}/bin/hlocc;DEV_TOOL_OF_TESTS=${CMAKE_BINARY_DIR}/bin/hlocc-dev")
endfunction()

# Headers, libraries, tool, man pages, pkg-config and CMake package files.
function(hlo_install)
  if(TARGET hlocc)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/hlocc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(TARGETS hlocc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    configure_file(cmake/hlocc.pc.in ${CMAKE_BINARY_DIR}/hlocc.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/hlocc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    include(CMakePackageConfigHelpers)
    configure_package_config_file(cmake/hloccConfig.cmake.in
      ${CMAKE_BINARY_DIR}/hloccConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hlocc
      PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR HLOCC_INSTALL_PLUGINDIR)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/hloccConfigVersion.cmake
      COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/hloccConfig.cmake ${CMAKE_BINARY_DIR}/hloccConfigVersion.cmake
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hlocc)
  endif()
  if(TARGET pjrt_plugin)
    install(TARGETS pjrt_plugin LIBRARY DESTINATION ${HLOCC_INSTALL_PLUGINDIR})
  endif()
  if(TARGET hlocc_cli)
    install(TARGETS hlocc_rt ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(TARGETS hlocc_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  foreach(section 1 3 7)
    file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.${section})
    list(FILTER pages EXCLUDE REGEX "/hlocc-dev\\.1$")  # neither is the tool installed
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
endfunction()
