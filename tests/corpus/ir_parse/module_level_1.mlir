!t = tensor<2x!quant.uniform<u8<1:200>:f32:0, {1.5, 2.0:3}>>
#a = dense<[[0, 1]]> : tensor<1x2xi64>  // a comment
func @f(%x: !t loc("x")) {
  %r = "stablehlo.collective_permute"(%x) {source_target_pairs = #a} : (!t) -> !t loc(#l)
  func.return
}
#l = loc("f.py":1:2)
