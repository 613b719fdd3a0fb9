# SPDX-License-Identifier: Apache-2.0
load 'style.gp'
set title 'Largest magnitude of each activation: trained in bfloat16, and cured for float16 in two ways'
set logscale y
set format y '10^{%L}'
set ylabel 'abs max'
set yrange [10:3e6]
set xrange [-0.5:14.5]
set xtics rotate by 35 right noenhanced
set bmargin 6
set key top center horizontal samplen 2
plot 65504 with lines lc rgb grey dt 2 lw 1.5 title 'end of float16', \
     data using 0:2:xtic(1) skip 1 with linespoints lc rgb red lw 2 pt 7 ps 0.5 title 'trained', \
     data using 0:3 skip 1 with linespoints lc rgb blue lw 2 pt 7 ps 0.5 title 'scaled', \
     data using 0:4 skip 1 with linespoints lc rgb green lw 2 pt 7 ps 0.5 title 'fine-tuned'
