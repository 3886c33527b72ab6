// Asynchronous computations with separate start and done ops: a region, a function.
func.func @main(%a: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>) {
  %1 = "hlo.async_start"(%a) ({
  ^bb0(%q: tensor<40xf32>):
    %9 = stablehlo.sine %q : tensor<40xf32>
    stablehlo.return %9 : tensor<40xf32>
  }) : (tensor<40xf32>) -> !stablehlo.future<tensor<40xf32>>
  %2 = "hlo.async_update"(%1) : (!stablehlo.future<tensor<40xf32>>) -> !stablehlo.future<tensor<40xf32>>
  %3 = "hlo.async_start"(%a) <{callee = @f}> : (tensor<40xf32>) -> !stablehlo.future<tensor<40xf32>>
  %4 = "hlo.async_done"(%2) : (!stablehlo.future<tensor<40xf32>>) -> tensor<40xf32>
  %5 = stablehlo.add %4, %a : tensor<40xf32>
  %6 = "hlo.async_done"(%3) : (!stablehlo.future<tensor<40xf32>>) -> tensor<40xf32>
  return %5, %6 : tensor<40xf32>, tensor<40xf32>
}
func.func private @f(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.cosine %x : tensor<40xf32>
  return %0 : tensor<40xf32>
}
