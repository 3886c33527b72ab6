// Computed shapes that are known at compile time: through calls and loops.
func.func @main(%x: tensor<5xf32>, %y: tensor<2x6xf32>) -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?x6xf32>) {
  %dims = stablehlo.constant dense<5> : tensor<1xi32>
  %v = stablehlo.dynamic_reshape %x, %dims : (tensor<5xf32>, tensor<1xi32>) -> tensor<?xf32>
  %0 = call @table(%v) : (tensor<?xf32>) -> tensor<?x?xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<20> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %a = %v) : tensor<i32>, tensor<?xf32>
  cond {
    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %f = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %s = stablehlo.sine %a : tensor<?xf32>
    %sum = stablehlo.add %s, %f : tensor<?xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<?xf32>
  }
  %low = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %high = stablehlo.constant dense<[2, 5]> : tensor<2xi32>
  %steps = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %pads = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %f0 = stablehlo.constant dense<0.5> : tensor<f32>
  %2 = stablehlo.real_dynamic_slice %y, %low, %high, %steps : (tensor<2x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_pad %2, %f0, %pads, %low, %steps : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
  return %0, %1#1, %3 : tensor<?x?xf32>, tensor<?xf32>, tensor<?x6xf32>
}
func.func private @table(%x: tensor<?xf32>) -> tensor<?x?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = stablehlo.dynamic_broadcast_in_dim %x, %1, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %x, %1, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %4 : tensor<?x?xf32>
}
// -----
// Transpositions of a few rows or columns: smaller squares, and their edges.
func.func @main(%x0: tensor<60x8x8xf32>, %x1: tensor<7x9x13xf32>, %x2: tensor<8x100xf32>, %x3: tensor<100x9xf64>, %x4: tensor<12x14x8xi8>, %x5: tensor<50x8x12xf16>, %x6: tensor<9x3x11xi16>, %x7: tensor<10x8x8xf64>, %x8: tensor<5x15x30xi8>)
    -> (tensor<60x8x8xf32>, tensor<7x13x9xf32>, tensor<100x8xf32>, tensor<9x100xf64>, tensor<12x8x14xi8>, tensor<50x12x8xf16>, tensor<9x11x3xi16>, tensor<10x8x8xf64>, tensor<5x30x15xi8>) {
  %t0 = stablehlo.transpose %x0, dims = [0, 2, 1] : (tensor<60x8x8xf32>) -> tensor<60x8x8xf32>
  %y0 = stablehlo.add %t0, %t0 : tensor<60x8x8xf32>
  %t1 = stablehlo.transpose %x1, dims = [0, 2, 1] : (tensor<7x9x13xf32>) -> tensor<7x13x9xf32>
  %y1 = stablehlo.add %t1, %t1 : tensor<7x13x9xf32>
  %t2 = stablehlo.transpose %x2, dims = [1, 0] : (tensor<8x100xf32>) -> tensor<100x8xf32>
  %y2 = stablehlo.add %t2, %t2 : tensor<100x8xf32>
  %t3 = stablehlo.transpose %x3, dims = [1, 0] : (tensor<100x9xf64>) -> tensor<9x100xf64>
  %y3 = stablehlo.add %t3, %t3 : tensor<9x100xf64>
  %t4 = stablehlo.transpose %x4, dims = [0, 2, 1] : (tensor<12x14x8xi8>) -> tensor<12x8x14xi8>
  %y4 = stablehlo.add %t4, %t4 : tensor<12x8x14xi8>
  %t5 = stablehlo.transpose %x5, dims = [0, 2, 1] : (tensor<50x8x12xf16>) -> tensor<50x12x8xf16>
  %y5 = stablehlo.add %t5, %t5 : tensor<50x12x8xf16>
  %t6 = stablehlo.transpose %x6, dims = [0, 2, 1] : (tensor<9x3x11xi16>) -> tensor<9x11x3xi16>
  %y6 = stablehlo.add %t6, %t6 : tensor<9x11x3xi16>
  %t7 = stablehlo.transpose %x7, dims = [0, 2, 1] : (tensor<10x8x8xf64>) -> tensor<10x8x8xf64>
  %y7 = stablehlo.add %t7, %t7 : tensor<10x8x8xf64>
  %t8 = stablehlo.transpose %x8, dims = [0, 2, 1] : (tensor<5x15x30xi8>) -> tensor<5x30x15xi8>
  %y8 = stablehlo.add %t8, %t8 : tensor<5x30x15xi8>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8 : tensor<60x8x8xf32>, tensor<7x13x9xf32>, tensor<100x8xf32>, tensor<9x100xf64>, tensor<12x8x14xi8>, tensor<50x12x8xf16>, tensor<9x11x3xi16>, tensor<10x8x8xf64>, tensor<5x30x15xi8>
}
// -----
// Scalars of 64 bits beside narrower elements: as positions, compared, and converted before they are broadcast.
func.func @main(%a: tensor<30x70xf32>, %b: tensor<30x70xi16>, %w: tensor<4x70x64xf32>, %i: tensor<i64>, %j: tensor<i64>) -> (tensor<30x70xf32>, tensor<30x70xi16>, tensor<30x64xf32>, tensor<30xf32>) {
  %c = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %d = stablehlo.subtract %i, %j : tensor<i64>
  %f = stablehlo.convert %d : (tensor<i64>) -> tensor<f32>
  %0 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<30x70xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<30x70xf32>
  %2 = stablehlo.select %c, %a, %1 : tensor<i1>, tensor<30x70xf32>
  %s = stablehlo.convert %d : (tensor<i64>) -> tensor<i16>
  %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i16>) -> tensor<30x70xi16>
  %4 = stablehlo.select %c, %3, %b : tensor<i1>, tensor<30x70xi16>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %5 = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 70, 64] : (tensor<4x70x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x70x64xf32>
  %6 = stablehlo.reshape %5 : (tensor<1x70x64xf32>) -> tensor<70x64xf32>
  %7 = stablehlo.dot_general %2, %6, contracting_dims = [1] x [0] : (tensor<30x70xf32>, tensor<70x64xf32>) -> tensor<30x64xf32>
  %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<30x64xf32>
  %8 = stablehlo.add %7, %g : tensor<30x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %9 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<30x70xf32>, tensor<f32>) -> tensor<30xf32>
  return %2, %4, %8, %9 : tensor<30x70xf32>, tensor<30x70xi16>, tensor<30x64xf32>, tensor<30xf32>
}
