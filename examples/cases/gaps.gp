# SPDX-License-Identifier: Apache-2.0
load 'style.gp'
set title 'Distance to the next value'
set logscale xy 2
set format xy '2^{%L}'
set xlabel 'magnitude'; set ylabel 'gap'
set key left top Left reverse
plot data using 1:2 skip 1 with linespoints lc rgb blue lw 2 pt 7 ps 0.4 title 'bfloat16', \
     data using 1:3 skip 1 with linespoints lc rgb green lw 2 pt 7 ps 0.4 title 'float16'
