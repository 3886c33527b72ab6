func.func @main(%x: tensor<3xf32>) -> (tensor<3xcomplex<f32>>, tensor<3xf32>) {
  %0 = stablehlo.complex %x, %x : tensor<3xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %2 = stablehlo.imag %0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %3 = stablehlo.multiply %0, %0 : tensor<3xcomplex<f32>>
  %4 = stablehlo.exponential %3 : tensor<3xcomplex<f32>>
  %5 = stablehlo.abs %3 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %4, %5 : tensor<3xcomplex<f32>>, tensor<3xf32>
}
