# SPDX-License-Identifier: Apache-2.0
# Runs the port in the archive of this version without vcpkg, and builds main.cpp against the result.
# The functions below do what vcpkg's own of these names do for a library of headers.
cmake_minimum_required(VERSION 3.25)

set(PORT lowp)
set(CURRENT_BUILDTREES_DIR ${SCRATCH}/buildtrees)
set(CURRENT_PACKAGES_DIR ${SCRATCH}/packages)
file(REMOVE_RECURSE ${SCRATCH})

include(${ROOT}/tests/support/archive.cmake)
unpack_archive(unpacked)
set(port ${unpacked}/.packaging/vcpkg/${PORT})

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} ${arg_OPTIONS}
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --install ${CURRENT_BUILDTREES_DIR})
endfunction()

# The package's files move to share/lowp, from where the prefix is two folders up.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  set(share ${CURRENT_PACKAGES_DIR}/share)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${share}/${PORT})
  cmake_path(GET arg_CONFIG_PATH PARENT_PATH parent)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${parent})
  file(READ ${share}/${PORT}/lowp-config.cmake config)
  string(REGEX REPLACE "(get_filename_component\\(_IMPORT_PREFIX [^\n]*\n)+"
         "cmake_path(SET _IMPORT_PREFIX NORMALIZE \${CMAKE_CURRENT_LIST_DIR}/../..)\n" config "${config}")
  file(WRITE ${share}/${PORT}/lowp-config.cmake "${config}")
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(STRINGS ${CURRENT_PACKAGES_DIR}/share/pkgconfig/lowp.pc absolute REGEX "${SCRATCH}")
  if(absolute)
    message(FATAL_ERROR "lowp.pc has an absolute path: ${absolute}")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()

include(${port}/portfile.cmake)

# vcpkg's checks of a package of headers.
file(GLOB folders RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/*)
file(GLOB shared RELATIVE ${CURRENT_PACKAGES_DIR}/share ${CURRENT_PACKAGES_DIR}/share/*)
if(NOT folders STREQUAL "include;share" OR NOT shared STREQUAL "lowp;pkgconfig"
   OR NOT VCPKG_BUILD_TYPE STREQUAL release)
  message(FATAL_ERROR "the package has ${folders}, and in share ${shared}")
endif()

file(READ ${port}/vcpkg.json manifest)
string(JSON version GET "${manifest}" version-semver)
file(READ ${CURRENT_PACKAGES_DIR}/share/lowp/lowp-config-version.cmake versions)
string(FIND "${versions}" "set(PACKAGE_VERSION \"${version}\")" place)
if(place EQUAL -1)
  message(FATAL_ERROR "vcpkg.json says ${version}, and the package another version")
endif()

file(RENAME ${CURRENT_PACKAGES_DIR} ${SCRATCH}/installed)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -DCMAKE_CXX_COMPILER=${CXX}
    -DWAY=package -DSUFFIX=cpp -DCMAKE_PREFIX_PATH=${SCRATCH}/installed)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/main)
