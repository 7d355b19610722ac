graph [
 node [ id 0 ]
 node [ id 1 ]
 edge [ source 0 target 1 delay "1ms" ]
 edge [ source 1 target 0 delay "2ms" ]
]
