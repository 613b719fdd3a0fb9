# SPDX-License-Identifier: Apache-2.0
# Rows are runs, columns the places that tokens go through; a cell says how much of what a place makes is
# lost.
load 'style.gp'
set title 'How much of what each place makes is infinite or NaN, in percent, cure by cure' offset 0,1.2
unset key; unset colorbox; unset border; unset grid
set lmargin 22; set rmargin 1; set tmargin 5.5; set bmargin 5.5
set xrange [-0.6:24.6]; set yrange [5.55:-0.55]
set tics scale 0
set xtics rotate by 40 right noenhanced offset 0.6,0.2
set ytics noenhanced
set cbrange [0:1]
set palette defined (0 '#eef2f4', 0.25 '#fbe6cf', 1 '#d55e00')
shade(p) = p == 0 ? 0 : 0.3 + 0.7 * sqrt(p / 100)
amount(p) = p == 0 ? '' : p < 0.5 ? '<1' : sprintf('%.0f', p)
set style fill solid 1 noborder
set arrow from 9.5,-0.9 to 9.5,5.55 nohead front lc rgb '#606060' lw 1
set arrow from -0.5,4.5 to 24.5,4.5 nohead front lc rgb '#606060' lw 1
set label 'block 0' at 4.5,-0.9 center textcolor '#202020'
set label 'block 1' at 14.5,-0.9 center textcolor '#202020'
set label "tokens\nlost" at 21.1,-1.45 center textcolor '#202020'
set label "error\nto fp32" at 23.6,-1.45 center textcolor '#202020'
plot data index 0 using 1:2:($1-0.47):($1+0.47):($2-0.45):($2+0.45):(shade($3)) skip 1 \
       with boxxyerror lc palette, \
     data index 0 using 1:2:(amount($3)) skip 1 with labels font ',10', \
     data index 1 using (21.1):1:3:ytic(2) skip 1 with labels, \
     data index 1 using (23.6):1:4 skip 1 with labels, \
     data index 2 using 1:(99):xtic(2) skip 1 with points
