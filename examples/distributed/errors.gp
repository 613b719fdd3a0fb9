# SPDX-License-Identifier: Apache-2.0
# gnuplot -e "data='errors.csv'; picture='errors.svg'" errors.gp
set terminal svg enhanced size 760,380 font 'sans-serif,13' background '#ffffff'
set output picture
set datafile separator ','
set border 3 lc rgb '#606060'
set tics nomirror out scale 0.6 textcolor '#202020'
set grid lt 1 lw 1 lc rgb '#e4e4e4'
set title 'Error of a sum of gradients, by the way of summing'
set logscale x 2; set logscale y 10
set format y '10^{%L}'
set xtics 4
set xlabel 'ranks'; set ylabel 'relative error'
set key outside right center Left reverse
plot data using 1:3 skip 1 with linespoints lc rgb '#d55e00' lw 2 pt 7 ps 0.4 title 'ring, bf16', \
     data using 1:4 skip 1 with linespoints lc rgb '#e69f00' lw 2 pt 7 ps 0.4 title 'tree, bf16', \
     data using 1:7 skip 1 with linespoints lc rgb '#009e73' lw 2 dt 2 pt 7 ps 0.4 title 'owner, MXFP8 stochastic', \
     data using 1:6 skip 1 with linespoints lc rgb '#0072b2' lw 2 dt 2 pt 7 ps 0.4 title 'owner, bf16 stochastic', \
     data using 1:5 skip 1 with linespoints lc rgb '#0072b2' lw 2 pt 7 ps 0.4 title 'owner, bf16', \
     data using 1:2 skip 1 with linespoints lc rgb '#808080' lw 2 pt 7 ps 0.4 title 'ring, fp32'
