# SPDX-License-Identifier: Apache-2.0
load 'style.gp'
set title 'How much of the way asked for bfloat16 weights go, by their magnitude'
set logscale x 2
set format x '2^{%L}'
set xlabel 'magnitude of the weight'; set ylabel 'share'
set yrange [0:1.45]
set key at graph 0.99,0.62 right top Left reverse
plot data using 1:2 skip 1 with linespoints lc rgb blue lw 2 pt 7 ps 0.4 title 'nearest, lr 5e-7', \
     data using 1:4 skip 1 with linespoints lc rgb red lw 2 pt 7 ps 0.4 title 'nearest, lr 1.6e-5', \
     data using 1:3 skip 1 with lines lc rgb blue lw 2 dt 2 title 'stochastic, lr 5e-7', \
     data using 1:5 skip 1 with lines lc rgb red lw 2 dt 2 title 'stochastic, lr 1.6e-5'
