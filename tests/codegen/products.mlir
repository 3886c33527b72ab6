// Bytes multiplied four at a time, bf16 two at a time; incomplete groups, edges of panels, all
// signs.
func.func @main(%a: tensor<40x131xi8>, %b: tensor<131x90xi8>) -> tensor<40x90xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x131xi8>, tensor<131x90xi8>) -> tensor<40x90xi32>
  return %0 : tensor<40x90xi32>
}
// -----
func.func @main(%a: tensor<40x128xui8>, %b: tensor<300x128xui8>) -> tensor<40x300xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<40x128xui8>, tensor<300x128xui8>) -> tensor<40x300xi32>
  return %0 : tensor<40x300xi32>
}
// -----
func.func @main(%a: tensor<130x40xui8>, %b: tensor<130x300xi8>) -> tensor<40x300xi64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<130x40xui8>, tensor<130x300xi8>) -> tensor<40x300xi64>
  return %0 : tensor<40x300xi64>
}
// -----
func.func @main(%a: tensor<3x130x40xi8>, %b: tensor<3x30x130xui8>) -> tensor<3x40x30xi8> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<3x130x40xi8>, tensor<3x30x130xui8>) -> tensor<3x40x30xi8>
  return %0 : tensor<3x40x30xi8>
}
// -----
func.func @main(%a: tensor<40x131xbf16>, %b: tensor<131x90xbf16>, %c: tensor<90xbf16>) -> tensor<40x90xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x131xbf16>, tensor<131x90xbf16>) -> tensor<40x90xbf16>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<90xbf16>) -> tensor<40x90xbf16>
  %2 = stablehlo.add %0, %1 : tensor<40x90xbf16>
  return %2 : tensor<40x90xbf16>
}
// -----
func.func @main(%a: tensor<131x40xbf16>, %b: tensor<300x131xbf16>) -> tensor<40x300xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : (tensor<131x40xbf16>, tensor<300x131xbf16>) -> tensor<40x300xf32>
  return %0 : tensor<40x300xf32>
}
// -----
func.func @main(%a: tensor<40x130xbf16>, %b: tensor<130x300xbf16>) -> tensor<40x300xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<40x130xbf16>, tensor<130x300xbf16>) -> tensor<40x300xf32>
  return %0 : tensor<40x300xf32>
}
// -----
// Few rows and a large operand, which is read in order.
func.func @main(%a: tensor<3x523xf32>, %b: tensor<523x2110xf32>, %c: tensor<2110xf32>) -> tensor<3x2110xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x523xf32>, tensor<523x2110xf32>) -> tensor<3x2110xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2110xf32>) -> tensor<3x2110xf32>
  %2 = stablehlo.add %0, %1 : tensor<3x2110xf32>
  return %2 : tensor<3x2110xf32>
}
// -----
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024x1100xf32>) -> tensor<1100xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<1024xf32>, tensor<1024x1100xf32>) -> tensor<1100xf32>
  return %0 : tensor<1100xf32>
}
// -----
// A large operand multiplied with few rows is packed per block.
func.func @main(%a: tensor<17x1031xi8>, %b: tensor<1031x2110xi8>) -> tensor<17x2110xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<17x1031xi8>, tensor<1031x2110xi8>) -> tensor<17x2110xi32>
  return %0 : tensor<17x2110xi32>
}
// -----
func.func @main(%a: tensor<17x1031xui8>, %b: tensor<1031x2110xi8>) -> tensor<17x2110xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<17x1031xui8>, tensor<1031x2110xi8>) -> tensor<17x2110xi32>
  return %0 : tensor<17x2110xi32>
}
// -----
func.func @main(%a: tensor<1031x17xbf16>, %b: tensor<1031x2110xbf16>, %c: tensor<2110xbf16>) -> tensor<17x2110xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<1031x17xbf16>, tensor<1031x2110xbf16>) -> tensor<17x2110xbf16>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2110xbf16>) -> tensor<17x2110xbf16>
  %2 = stablehlo.add %0, %1 : tensor<17x2110xbf16>
  return %2 : tensor<17x2110xbf16>
}

// -----

// Convolutions: strides and padding; a reversed filter for each feature; a dilated input.
func.func @main(%x: tensor<4x9x8x6xf32>, %w: tensor<3x2x6x8xf32>, %y: tensor<4x9x8x6xf32>, %v: tensor<3x3x1x6xf32>, %u: tensor<6x5x4x8xf32>, %k: tensor<3x3x8x3xf32>) -> (tensor<4x5x11x8xf32>, tensor<4x9x8x6xf32>, tensor<6x10x8x3xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x9x8x6xf32>, tensor<3x2x6x8xf32>) -> tensor<4x5x11x8xf32>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<4x9x8x6xf32>, tensor<3x3x1x6xf32>) -> tensor<4x9x8x6xf32>
  %2 = stablehlo.convolution(%u, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x5x4x8xf32>, tensor<3x3x8x3xf32>) -> tensor<6x10x8x3xf32>
  return %0, %1, %2 : tensor<4x5x11x8xf32>, tensor<4x9x8x6xf32>, tensor<6x10x8x3xf32>
}

// -----

// A long contraction is split into blocks: partial sums are kept in an output.
func.func @main(%a: tensor<2x19x1613xf32>, %b: tensor<2x1613x83xf32>) -> tensor<2x19x83xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x19x1613xf32>, tensor<2x1613x83xf32>) -> tensor<2x19x83xf32>
  return %0 : tensor<2x19x83xf32>
}

// -----

func.func @main(%a: tensor<19x1613xf32>, %b: tensor<1613x83xf32>, %c: tensor<19x83xf32>) -> tensor<19x83xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x1613xf32>, tensor<1613x83xf32>) -> tensor<19x83xf32>
  %1 = stablehlo.add %0, %c : tensor<19x83xf32>
  return %1 : tensor<19x83xf32>
}
// -----
// Several rows in a vector.
func.func @main(%a: tensor<1003x3xf32>, %b: tensor<3x3xf32>, %c: tensor<1003x3xf32>) -> (tensor<1003x3xf32>, tensor<1003x3xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1003x3xf32>, tensor<3x3xf32>) -> tensor<1003x3xf32>
  %1 = stablehlo.multiply %0, %c : tensor<1003x3xf32>
  %2 = stablehlo.exponential %1 : tensor<1003x3xf32>
  return %1, %2 : tensor<1003x3xf32>, tensor<1003x3xf32>
}
// -----
func.func @main(%a: tensor<513x4xf64>, %b: tensor<5x4xf64>, %c: tensor<5xf64>) -> tensor<513x5xf64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<513x4xf64>, tensor<5x4xf64>) -> tensor<513x5xf64>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xf64>) -> tensor<513x5xf64>
  %2 = stablehlo.add %0, %1 : tensor<513x5xf64>
  return %2 : tensor<513x5xf64>
}
// -----
// A result too small for parallel tiles: blocks of the contraction are summed separately.
func.func @main(%a: tensor<5x20003xf32>, %b: tensor<20003x19xf32>, %c: tensor<19xf32>) -> tensor<5x19xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x20003xf32>, tensor<20003x19xf32>) -> tensor<5x19xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<19xf32>) -> tensor<5x19xf32>
  %2 = stablehlo.add %0, %1 : tensor<5x19xf32>
  return %2 : tensor<5x19xf32>
}
// -----
func.func @main(%a: tensor<30x30001xi8>, %b: tensor<30001x20xi8>) -> tensor<30x20xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<30x30001xi8>, tensor<30001x20xi8>) -> tensor<30x20xi32>
  return %0 : tensor<30x20xi32>
}

// -----

// One transposed matrix, read in place by both products.
func.func @main(%x: tensor<33x70xf32>, %w: tensor<90x70xf32>, %y: tensor<70x40xf32>) -> (tensor<33x90xf32>, tensor<90x40xf32>) {
  %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<90x70xf32>) -> tensor<70x90xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<33x70xf32>, tensor<70x90xf32>) -> tensor<33x90xf32>
  %2 = stablehlo.dot_general %0, %y, contracting_dims = [0] x [0] : (tensor<70x90xf32>, tensor<70x40xf32>) -> tensor<90x40xf32>
  return %1, %2 : tensor<33x90xf32>, tensor<90x40xf32>
}

// -----

// The prologue's value is also a result, or is used after the product.
func.func @main(%x: tensor<33x70xf32>, %w: tensor<70x70xf32>, %s: tensor<70x70xi8>) -> (tensor<33x70xf32>, tensor<70x70xf32>) {
  %0 = stablehlo.tanh %x : tensor<33x70xf32>
  %1 = stablehlo.convert %s : (tensor<70x70xi8>) -> tensor<70x70xf32>
  %2 = stablehlo.multiply %1, %w : tensor<70x70xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<33x70xf32>, tensor<70x70xf32>) -> tensor<33x70xf32>
  %4 = stablehlo.add %3, %0 : tensor<33x70xf32>
  %5 = stablehlo.dot_general %2, %1, contracting_dims = [1] x [0] : (tensor<70x70xf32>, tensor<70x70xf32>) -> tensor<70x70xf32>
  return %4, %5 : tensor<33x70xf32>, tensor<70x70xf32>
}

// -----

// A product of a value with itself, of a transposed row, and of gathered rows.
func.func @main(%x: tensor<40x60xi8>, %t: tensor<100x64xf32>, %i: tensor<30x1xi32>, %w: tensor<64x50xf32>) -> (tensor<40x40xf32>, tensor<30x50xf32>) {
  %0 = stablehlo.convert %x : (tensor<40x60xi8>) -> tensor<40x60xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<40x60xf32>, tensor<40x60xf32>) -> tensor<40x40xf32>
  %2 = "stablehlo.gather"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>} : (tensor<100x64xf32>, tensor<30x1xi32>) -> tensor<30x64xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<30x64xf32>, tensor<64x50xf32>) -> tensor<30x50xf32>
  return %1, %3 : tensor<40x40xf32>, tensor<30x50xf32>
}

// -----

// A layer of stacked weights in each iteration of a loop.
func.func @main(%x: tensor<20x48xf32>, %w: tensor<5x48x48xf32>) -> tensor<20x48xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<20x48xf32>
  cond {
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 48, 48] : (tensor<5x48x48xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x48xf32>
    %m = stablehlo.reshape %s : (tensor<1x48x48xf32>) -> tensor<48x48xf32>
    %d = stablehlo.dot_general %y, %m, contracting_dims = [1] x [0] : (tensor<20x48xf32>, tensor<48x48xf32>) -> tensor<20x48xf32>
    %t = stablehlo.tanh %d : tensor<20x48xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<20x48xf32>
  }
  return %0#1 : tensor<20x48xf32>
}

// -----

// Algorithms: operands rounded or widened before the product, sums afterwards.
func.func @main(%x: tensor<40x131xf32>, %y: tensor<131x90xf32>, %b: tensor<40x131xbf16>) -> (tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x40xbf16>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = bf16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %3 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %4 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %5 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %6 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xf32>, tensor<131x90xf32>) -> tensor<40x90xf32>
  %7 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<40x131xbf16>, tensor<40x131xbf16>) -> tensor<40x40xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x90xf32>, tensor<40x40xbf16>
}
// -----
// Attention scores: the rows of a product become innermost, so its operands are swapped.
func.func @main(%q: tensor<70x4x3x40xbf16>, %k: tensor<90x3x40xbf16>, %x: tensor<33x40xf32>, %y: tensor<5x70x40xf32>) -> (tensor<3x4x70x90xbf16>, tensor<70x5x33xf32>) {
  %0 = stablehlo.dot_general %k, %q, batching_dims = [1] x [2], contracting_dims = [2] x [3] : (tensor<90x3x40xbf16>, tensor<70x4x3x40xbf16>) -> tensor<3x90x70x4xbf16>
  %1 = stablehlo.transpose %0, dims = [0, 3, 2, 1] : (tensor<3x90x70x4xbf16>) -> tensor<3x4x70x90xbf16>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [2] : (tensor<33x40xf32>, tensor<5x70x40xf32>) -> tensor<33x5x70xf32>
  %3 = stablehlo.transpose %2, dims = [2, 1, 0] : (tensor<33x5x70xf32>) -> tensor<70x5x33xf32>
  return %1, %3 : tensor<3x4x70x90xbf16>, tensor<70x5x33xf32>
}
// -----
// Shallow products: lanes along the columns, packed columns, batches and columns that end inside a vector.
func.func @main(%a: tensor<3x2x40xf32>, %b: tensor<19x3x2xf32>) -> tensor<3x40x19xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [1] x [2] : (tensor<3x2x40xf32>, tensor<19x3x2xf32>) -> tensor<3x40x19xf32>
  return %0 : tensor<3x40x19xf32>
}
// -----
func.func @main(%a: tensor<50x8xf32>, %b: tensor<8x17xf32>) -> tensor<50x17xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<50x8xf32>, tensor<8x17xf32>) -> tensor<50x17xf32>
  return %0 : tensor<50x17xf32>
}
// -----
func.func @main(%a: tensor<30x5xbf16>, %b: tensor<40x5xbf16>) -> tensor<30x40xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<30x5xbf16>, tensor<40x5xbf16>) -> tensor<30x40xbf16>
  return %0 : tensor<30x40xbf16>
}
// -----
func.func @main(%a: tensor<23x3xf64>, %b: tensor<12x3xf64>) -> tensor<23x12xf64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<23x3xf64>, tensor<12x3xf64>) -> tensor<23x12xf64>
  return %0 : tensor<23x12xf64>
}
// -----
func.func @main(%a: tensor<20x30x3xf32>, %b: tensor<1x3x20xf32>) -> tensor<1x30x20xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [2] x [1] : (tensor<20x30x3xf32>, tensor<1x3x20xf32>) -> tensor<20x30x1xf32>
  %1 = stablehlo.transpose %0, dims = [2, 1, 0] : (tensor<20x30x1xf32>) -> tensor<1x30x20xf32>
  return %1 : tensor<1x30x20xf32>
}
// -----
// Shallow products whose right operand ends in the batch: columns are packed.
func.func @main(%a: tensor<12x3x9xf32>, %b: tensor<10x3x12xf32>) -> tensor<12x9x10xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [1] x [1] : (tensor<12x3x9xf32>, tensor<10x3x12xf32>) -> tensor<12x9x10xf32>
  return %0 : tensor<12x9x10xf32>
}
// -----
func.func @main(%a: tensor<20x2x8xf16>, %b: tensor<33x8x2xf16>, %c: tensor<33x2x20xf16>) -> tensor<33x2x20xf16> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [2], contracting_dims = [2] x [1] : (tensor<20x2x8xf16>, tensor<33x8x2xf16>) -> tensor<2x20x33xf16>
  %1 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<2x20x33xf16>) -> tensor<33x2x20xf16>
  %2 = stablehlo.subtract %1, %c : tensor<33x2x20xf16>
  return %2 : tensor<33x2x20xf16>
}
