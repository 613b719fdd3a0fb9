# SPDX-License-Identifier: Apache-2.0
# An overlay port of this checkout: vcpkg install lowp --overlay-ports=.packaging/vcpkg
cmake_path(SET SOURCE_PATH NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../..)

set(VCPKG_BUILD_TYPE release)  # headers are the same in all configurations
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/lowp)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
