# SPDX-License-Identifier: Apache-2.0
# What the pictures of this folder share. Colours: M. Okabe, K. Ito, "Color universal design", 2008,
# which colour-blind readers tell apart.
set terminal svg enhanced size 760,380 font 'sans-serif,13' background '#ffffff'
set output picture
set datafile separator ','
set border 3 lc rgb '#606060'
set tics nomirror out scale 0.6 textcolor '#202020'
set grid lt 1 lw 1 lc rgb '#e4e4e4'
grey = '#808080'; blue = '#0072b2'; green = '#009e73'; red = '#d55e00'
