// Outputs of several sizes in one fusion: what is reduced beside the sums, of rows, columns and everything;
// what belongs to rows beside the rows.
func.func @main(%x: tensor<300x1500xf32>) -> (tensor<300xf32>, tensor<300x1500xf32>, tensor<300xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<300x1500xf32>, tensor<f32>) -> tensor<300xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<300xf32>) -> tensor<300x1500xf32>
  %c = stablehlo.subtract %x, %b : tensor<300x1500xf32>
  %e = stablehlo.exponential %c : tensor<300x1500xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x1500xf32>, tensor<f32>) -> tensor<300xf32>
  return %m, %e, %s : tensor<300xf32>, tensor<300x1500xf32>, tensor<300xf32>
}
// -----
func.func @main(%x: tensor<7x5xf32>) -> (tensor<7xf32>, tensor<7x5xf32>, tensor<7xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<7xf32>) -> tensor<7x5xf32>
  %c = stablehlo.subtract %x, %b : tensor<7x5xf32>
  %e = stablehlo.exponential %c : tensor<7x5xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>
  return %m, %e, %s : tensor<7xf32>, tensor<7x5xf32>, tensor<7xf32>
}
// -----
func.func @main(%x: tensor<8x40x64xf32>) -> (tensor<8x64xf32>, tensor<8x40x64xf32>, tensor<8x64xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8x40x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0, 2] : (tensor<8x64xf32>) -> tensor<8x40x64xf32>
  %c = stablehlo.subtract %x, %b : tensor<8x40x64xf32>
  %e = stablehlo.exponential %c : tensor<8x40x64xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x40x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  return %m, %e, %s : tensor<8x64xf32>, tensor<8x40x64xf32>, tensor<8x64xf32>
}
// -----
func.func @main(%x: tensor<64x33xf32>) -> (tensor<33xf32>, tensor<64x33xf32>, tensor<33xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<64x33xf32>, tensor<f32>) -> tensor<33xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<33xf32>) -> tensor<64x33xf32>
  %c = stablehlo.subtract %x, %b : tensor<64x33xf32>
  %e = stablehlo.exponential %c : tensor<64x33xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x33xf32>, tensor<f32>) -> tensor<33xf32>
  return %m, %e, %s : tensor<33xf32>, tensor<64x33xf32>, tensor<33xf32>
}
// -----
func.func @main(%x: tensor<400x1024xf32>) -> (tensor<400x1024xf32>, tensor<400xf32>, tensor<400xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<400xf32>
  %n = stablehlo.constant dense<1024.0> : tensor<400xf32>
  %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<400x1024xf32>, tensor<f32>) -> tensor<400xf32>
  %m = stablehlo.divide %t, %n : tensor<400xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<400xf32>) -> tensor<400x1024xf32>
  %c = stablehlo.subtract %x, %mb : tensor<400x1024xf32>
  %q = stablehlo.multiply %c, %c : tensor<400x1024xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<400x1024xf32>, tensor<f32>) -> tensor<400xf32>
  %v1 = stablehlo.add %v, %one : tensor<400xf32>
  %r = stablehlo.rsqrt %v1 : tensor<400xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<400xf32>) -> tensor<400x1024xf32>
  %y = stablehlo.multiply %c, %rb : tensor<400x1024xf32>
  return %y, %m, %r : tensor<400x1024xf32>, tensor<400xf32>, tensor<400xf32>
}
// -----
func.func @main(%x: tensor<3x5x17xf32>) -> (tensor<3x5x17xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<3x5xf32>
  %n = stablehlo.constant dense<17.0> : tensor<3x5xf32>
  %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x5x17xf32>, tensor<f32>) -> tensor<3x5xf32>
  %m = stablehlo.divide %t, %n : tensor<3x5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x17xf32>
  %c = stablehlo.subtract %x, %mb : tensor<3x5x17xf32>
  %q = stablehlo.multiply %c, %c : tensor<3x5x17xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x5x17xf32>, tensor<f32>) -> tensor<3x5xf32>
  %v1 = stablehlo.add %v, %one : tensor<3x5xf32>
  %r = stablehlo.rsqrt %v1 : tensor<3x5xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x17xf32>
  %y = stablehlo.multiply %c, %rb : tensor<3x5x17xf32>
  return %y, %m, %r : tensor<3x5x17xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
// -----
func.func @main(%x: tensor<200x8192xf32>, %y: tensor<200x8192xf32>) -> (tensor<200x8192xf32>, tensor<8192xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<200x8192xf32>
  %u = stablehlo.multiply %t, %y : tensor<200x8192xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<200x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  return %u, %s : tensor<200x8192xf32>, tensor<8192xf32>
}
// -----
func.func @main(%x: tensor<1000x500xf32>, %y: tensor<1000x500xf32>) -> (tensor<1000x500xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<1000x500xf32>
  %u = stablehlo.multiply %t, %y : tensor<1000x500xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1000x500xf32>, tensor<f32>) -> tensor<f32>
  return %u, %s : tensor<1000x500xf32>, tensor<f32>
}
// -----
func.func @main(%x: tensor<31x65xf32>, %y: tensor<31x65xf32>) -> (tensor<31x65xf32>, tensor<65xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<31x65xf32>
  %u = stablehlo.multiply %t, %y : tensor<31x65xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<31x65xf32>, tensor<f32>) -> tensor<65xf32>
  return %u, %s : tensor<31x65xf32>, tensor<65xf32>
}
// -----
func.func @main(%x: tensor<6x20x50xf32>, %y: tensor<6x20x50xf32>) -> (tensor<6x20x50xf32>, tensor<20xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<6x20x50xf32>
  %u = stablehlo.multiply %t, %y : tensor<6x20x50xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<6x20x50xf32>, tensor<f32>) -> tensor<20xf32>
  return %u, %s : tensor<6x20x50xf32>, tensor<20xf32>
}
