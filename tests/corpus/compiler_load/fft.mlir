func.func @main(%x: tensor<2x8xf32>, %c: tensor<2x6xcomplex<f64>>) -> (tensor<2x8xf32>, tensor<2x6xcomplex<f64>>) {
  %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>>
  %1 = stablehlo.fft %0, type = IRFFT, length = [8] : (tensor<2x5xcomplex<f32>>) -> tensor<2x8xf32>
  %2 = stablehlo.fft %c, type = FFT, length = [2, 6] : (tensor<2x6xcomplex<f64>>) -> tensor<2x6xcomplex<f64>>
  %3 = stablehlo.fft %c, type = IFFT, length = [6] : (tensor<2x6xcomplex<f64>>) -> tensor<2x6xcomplex<f64>>
  return %1, %2 : tensor<2x8xf32>, tensor<2x6xcomplex<f64>>
}
