// Rows that end inside a vector: loads and stores of the elements after the last whole vector, of every size.
func.func @main(%x: tensor<3x5xf32>, %y: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:4] : (tensor<3x5xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x3xf32>
  %2 = stablehlo.add %1, %y : tensor<3x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x3xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x7xf32>, %y: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:6] : (tensor<3x7xf32>) -> tensor<3x5xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x5xf32>
  %2 = stablehlo.add %1, %y : tensor<3x5xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x5xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x8xf32>, %y: tensor<3x6xf32>) -> (tensor<3x6xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:7] : (tensor<3x8xf32>) -> tensor<3x6xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x6xf32>
  %2 = stablehlo.add %1, %y : tensor<3x6xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x6xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x9xf32>, %y: tensor<3x7xf32>) -> (tensor<3x7xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:8] : (tensor<3x9xf32>) -> tensor<3x7xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x7xf32>
  %2 = stablehlo.add %1, %y : tensor<3x7xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x7xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x11xf32>, %y: tensor<3x9xf32>) -> (tensor<3x9xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:10] : (tensor<3x11xf32>) -> tensor<3x9xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x9xf32>
  %2 = stablehlo.add %1, %y : tensor<3x9xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x9xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x9xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x15xf32>, %y: tensor<3x13xf32>) -> (tensor<3x13xf32>, tensor<3xf32>) {
  %0 = stablehlo.slice %x [0:3, 1:14] : (tensor<3x15xf32>) -> tensor<3x13xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x13xf32>
  %2 = stablehlo.add %1, %y : tensor<3x13xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x13xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<3x13xf32>, tensor<3xf32>
}
// -----
func.func @main(%x: tensor<3x4xf64>, %y: tensor<3x2xf64>) -> (tensor<3x2xf64>, tensor<3xf64>) {
  %0 = stablehlo.slice %x [0:3, 1:3] : (tensor<3x4xf64>) -> tensor<3x2xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3x2xf64>
  %2 = stablehlo.add %1, %y : tensor<3x2xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
  return %2, %3 : tensor<3x2xf64>, tensor<3xf64>
}
// -----
func.func @main(%x: tensor<3x5xf64>, %y: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>) {
  %0 = stablehlo.slice %x [0:3, 1:4] : (tensor<3x5xf64>) -> tensor<3x3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3x3xf64>
  %2 = stablehlo.add %1, %y : tensor<3x3xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<3xf64>
  return %2, %3 : tensor<3x3xf64>, tensor<3xf64>
}
// -----
func.func @main(%x: tensor<3x7xf64>, %y: tensor<3x5xf64>) -> (tensor<3x5xf64>, tensor<3xf64>) {
  %0 = stablehlo.slice %x [0:3, 1:6] : (tensor<3x7xf64>) -> tensor<3x5xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3x5xf64>
  %2 = stablehlo.add %1, %y : tensor<3x5xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf64>, tensor<f64>) -> tensor<3xf64>
  return %2, %3 : tensor<3x5xf64>, tensor<3xf64>
}
// -----
func.func @main(%x: tensor<3x9xf64>, %y: tensor<3x7xf64>) -> (tensor<3x7xf64>, tensor<3xf64>) {
  %0 = stablehlo.slice %x [0:3, 1:8] : (tensor<3x9xf64>) -> tensor<3x7xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3x7xf64>
  %2 = stablehlo.add %1, %y : tensor<3x7xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xf64>, tensor<f64>) -> tensor<3xf64>
  return %2, %3 : tensor<3x7xf64>, tensor<3xf64>
}
// -----
func.func @main(%x: tensor<3x5xbf16>, %y: tensor<3x3xbf16>) -> (tensor<3x3xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:4] : (tensor<3x5xbf16>) -> tensor<3x3xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x3xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x3xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x3xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x3xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x7xbf16>, %y: tensor<3x5xbf16>) -> (tensor<3x5xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:6] : (tensor<3x7xbf16>) -> tensor<3x5xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x5xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x5xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x5xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x9xbf16>, %y: tensor<3x7xbf16>) -> (tensor<3x7xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:8] : (tensor<3x9xbf16>) -> tensor<3x7xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x7xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x7xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x7xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x13xbf16>, %y: tensor<3x11xbf16>) -> (tensor<3x11xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:12] : (tensor<3x13xbf16>) -> tensor<3x11xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x11xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x11xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x11xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x11xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x16xbf16>, %y: tensor<3x14xbf16>) -> (tensor<3x14xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:15] : (tensor<3x16xbf16>) -> tensor<3x14xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x14xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x14xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x14xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x14xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x17xbf16>, %y: tensor<3x15xbf16>) -> (tensor<3x15xbf16>, tensor<3xbf16>) {
  %0 = stablehlo.slice %x [0:3, 1:16] : (tensor<3x17xbf16>) -> tensor<3x15xbf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x15xbf16>
  %2 = stablehlo.add %1, %y : tensor<3x15xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x15xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %2, %3 : tensor<3x15xbf16>, tensor<3xbf16>
}
// -----
func.func @main(%x: tensor<3x8xf16>, %y: tensor<3x6xf16>) -> (tensor<3x6xf16>, tensor<3xf16>) {
  %0 = stablehlo.slice %x [0:3, 1:7] : (tensor<3x8xf16>) -> tensor<3x6xf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x6xf16>
  %2 = stablehlo.add %1, %y : tensor<3x6xf16>
  %c = stablehlo.constant dense<0.0> : tensor<f16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xf16>, tensor<f16>) -> tensor<3xf16>
  return %2, %3 : tensor<3x6xf16>, tensor<3xf16>
}
// -----
func.func @main(%x: tensor<3x15xf16>, %y: tensor<3x13xf16>) -> (tensor<3x13xf16>, tensor<3xf16>) {
  %0 = stablehlo.slice %x [0:3, 1:14] : (tensor<3x15xf16>) -> tensor<3x13xf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x13xf16>
  %2 = stablehlo.add %1, %y : tensor<3x13xf16>
  %c = stablehlo.constant dense<0.0> : tensor<f16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x13xf16>, tensor<f16>) -> tensor<3xf16>
  return %2, %3 : tensor<3x13xf16>, tensor<3xf16>
}
// -----
func.func @main(%x: tensor<3x5xi8>, %y: tensor<3x3xi8>) -> (tensor<3x3xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:4] : (tensor<3x5xi8>) -> tensor<3x3xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x3xi8>
  %2 = stablehlo.add %1, %y : tensor<3x3xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x3xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x3xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x9xi8>, %y: tensor<3x7xi8>) -> (tensor<3x7xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:8] : (tensor<3x9xi8>) -> tensor<3x7xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x7xi8>
  %2 = stablehlo.add %1, %y : tensor<3x7xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x7xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x7xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x15xi8>, %y: tensor<3x13xi8>) -> (tensor<3x13xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:14] : (tensor<3x15xi8>) -> tensor<3x13xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x13xi8>
  %2 = stablehlo.add %1, %y : tensor<3x13xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x13xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x13xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x23xi8>, %y: tensor<3x21xi8>) -> (tensor<3x21xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:22] : (tensor<3x23xi8>) -> tensor<3x21xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x21xi8>
  %2 = stablehlo.add %1, %y : tensor<3x21xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x21xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x21xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x33xi8>, %y: tensor<3x31xi8>) -> (tensor<3x31xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:32] : (tensor<3x33xi8>) -> tensor<3x31xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x31xi8>
  %2 = stablehlo.add %1, %y : tensor<3x31xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x31xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x31xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x47xi8>, %y: tensor<3x45xi8>) -> (tensor<3x45xi8>, tensor<3xi8>) {
  %0 = stablehlo.slice %x [0:3, 1:46] : (tensor<3x47xi8>) -> tensor<3x45xi8>
  %1 = stablehlo.multiply %0, %y : tensor<3x45xi8>
  %2 = stablehlo.add %1, %y : tensor<3x45xi8>
  %c = stablehlo.constant dense<0> : tensor<i8>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x45xi8>, tensor<i8>) -> tensor<3xi8>
  return %2, %3 : tensor<3x45xi8>, tensor<3xi8>
}
// -----
func.func @main(%x: tensor<3x7xi16>, %y: tensor<3x5xi16>) -> (tensor<3x5xi16>, tensor<3xi16>) {
  %0 = stablehlo.slice %x [0:3, 1:6] : (tensor<3x7xi16>) -> tensor<3x5xi16>
  %1 = stablehlo.multiply %0, %y : tensor<3x5xi16>
  %2 = stablehlo.add %1, %y : tensor<3x5xi16>
  %c = stablehlo.constant dense<0> : tensor<i16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xi16>, tensor<i16>) -> tensor<3xi16>
  return %2, %3 : tensor<3x5xi16>, tensor<3xi16>
}
// -----
func.func @main(%x: tensor<3x11xi16>, %y: tensor<3x9xi16>) -> (tensor<3x9xi16>, tensor<3xi16>) {
  %0 = stablehlo.slice %x [0:3, 1:10] : (tensor<3x11xi16>) -> tensor<3x9xi16>
  %1 = stablehlo.multiply %0, %y : tensor<3x9xi16>
  %2 = stablehlo.add %1, %y : tensor<3x9xi16>
  %c = stablehlo.constant dense<0> : tensor<i16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x9xi16>, tensor<i16>) -> tensor<3xi16>
  return %2, %3 : tensor<3x9xi16>, tensor<3xi16>
}
// -----
func.func @main(%x: tensor<3x17xi16>, %y: tensor<3x15xi16>) -> (tensor<3x15xi16>, tensor<3xi16>) {
  %0 = stablehlo.slice %x [0:3, 1:16] : (tensor<3x17xi16>) -> tensor<3x15xi16>
  %1 = stablehlo.multiply %0, %y : tensor<3x15xi16>
  %2 = stablehlo.add %1, %y : tensor<3x15xi16>
  %c = stablehlo.constant dense<0> : tensor<i16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x15xi16>, tensor<i16>) -> tensor<3xi16>
  return %2, %3 : tensor<3x15xi16>, tensor<3xi16>
}
// -----
func.func @main(%x: tensor<3x25xi16>, %y: tensor<3x23xi16>) -> (tensor<3x23xi16>, tensor<3xi16>) {
  %0 = stablehlo.slice %x [0:3, 1:24] : (tensor<3x25xi16>) -> tensor<3x23xi16>
  %1 = stablehlo.multiply %0, %y : tensor<3x23xi16>
  %2 = stablehlo.add %1, %y : tensor<3x23xi16>
  %c = stablehlo.constant dense<0> : tensor<i16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x23xi16>, tensor<i16>) -> tensor<3xi16>
  return %2, %3 : tensor<3x23xi16>, tensor<3xi16>
}
// -----
func.func @main(%x: tensor<3x8xi32>, %y: tensor<3x6xi32>) -> (tensor<3x6xi32>, tensor<3xi32>) {
  %0 = stablehlo.slice %x [0:3, 1:7] : (tensor<3x8xi32>) -> tensor<3x6xi32>
  %1 = stablehlo.multiply %0, %y : tensor<3x6xi32>
  %2 = stablehlo.add %1, %y : tensor<3x6xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xi32>, tensor<i32>) -> tensor<3xi32>
  return %2, %3 : tensor<3x6xi32>, tensor<3xi32>
}
// -----
func.func @main(%x: tensor<3x13xi32>, %y: tensor<3x11xi32>) -> (tensor<3x11xi32>, tensor<3xi32>) {
  %0 = stablehlo.slice %x [0:3, 1:12] : (tensor<3x13xi32>) -> tensor<3x11xi32>
  %1 = stablehlo.multiply %0, %y : tensor<3x11xi32>
  %2 = stablehlo.add %1, %y : tensor<3x11xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<3x11xi32>, tensor<i32>) -> tensor<3xi32>
  return %2, %3 : tensor<3x11xi32>, tensor<3xi32>
}
// -----
func.func @main(%x: tensor<19x13xf32>) -> tensor<19x13xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<19x13xf32>, tensor<f32>) -> tensor<19xf32>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<19x13xf32>, tensor<f32>) -> tensor<19xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<19xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<19xf32>) -> tensor<19x13xf32>
  %4 = stablehlo.subtract %x, %3 : tensor<19x13xf32>
  return %4 : tensor<19x13xf32>
}
// -----
func.func @main(%x: tensor<16x102xf32>) -> tensor<16x102xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<16x102xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<16x102xf32>, tensor<f32>) -> tensor<16xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<16xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<16xf32>) -> tensor<16x102xf32>
  %4 = stablehlo.subtract %x, %3 : tensor<16x102xf32>
  return %4 : tensor<16x102xf32>
}
// -----
func.func @main(%x: tensor<17x5xbf16>) -> tensor<17x5xbf16> {
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<17x5xbf16>, tensor<bf16>) -> tensor<17xbf16>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<17x5xbf16>, tensor<bf16>) -> tensor<17xbf16>
  %2 = stablehlo.subtract %0, %1 : tensor<17xbf16>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<17xbf16>) -> tensor<17x5xbf16>
  %4 = stablehlo.subtract %x, %3 : tensor<17x5xbf16>
  return %4 : tensor<17x5xbf16>
}
// -----
func.func @main(%x: tensor<9x131xf64>) -> tensor<9x131xf64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<9x131xf64>, tensor<f64>) -> tensor<9xf64>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<9x131xf64>, tensor<f64>) -> tensor<9xf64>
  %2 = stablehlo.subtract %0, %1 : tensor<9xf64>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<9xf64>) -> tensor<9x131xf64>
  %4 = stablehlo.subtract %x, %3 : tensor<9x131xf64>
  return %4 : tensor<9x131xf64>
}
// -----
func.func @main(%x: tensor<24x3xi32>) -> tensor<24x3xi32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<24x3xi32>, tensor<i32>) -> tensor<24xi32>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<24x3xi32>, tensor<i32>) -> tensor<24xi32>
  %2 = stablehlo.subtract %0, %1 : tensor<24xi32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<24xi32>) -> tensor<24x3xi32>
  %4 = stablehlo.subtract %x, %3 : tensor<24x3xi32>
  return %4 : tensor<24x3xi32>
}
