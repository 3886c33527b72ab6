// Scatters of one element for each of many short lines, which become selects.
// vmap of x.at[i].set(v)
func.func @main(%a: tensor<50x4xf32>, %i: tensor<50x1xi32>, %v: tensor<50xf32>) -> tensor<50x4xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<50x4xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<50x4xf32>
  return %0 : tensor<50x4xf32>
}
// -----
// no dimension of index vectors; a sum; unsigned indices
func.func @main(%a: tensor<50x7xf32>, %i: tensor<50xui32>, %v: tensor<50xf32>) -> tensor<50x7xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50x7xf32>, tensor<50xui32>, tensor<50xf32>) -> tensor<50x7xf32>
  return %0 : tensor<50x7xf32>
}
// -----
// two batches in another order; windows between their dimensions
func.func @main(%a: tensor<3x6x5x2xi64>, %i: tensor<6x1x3xi64>, %v: tensor<6x2x3xi64>) -> tensor<3x6x5x2xi64> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [2, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i64>, %y: tensor<i64>):
    %s = stablehlo.maximum %x, %y : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<3x6x5x2xi64>, tensor<6x1x3xi64>, tensor<6x2x3xi64>) -> tensor<3x6x5x2xi64>
  return %0 : tensor<3x6x5x2xi64>
}
// -----
// one column of a matrix
func.func @main(%a: tensor<40x5xf32>, %i: tensor<1xi32>, %v: tensor<40xf32>) -> tensor<40x5xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.multiply %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<40x5xf32>, tensor<1xi32>, tensor<40xf32>) -> tensor<40x5xf32>
  return %0 : tensor<40x5xf32>
}
// -----
// lines that are no batch of the indices: one window
func.func @main(%a: tensor<40x3x2xi32>, %i: tensor<1xi32>, %v: tensor<40x2xi32>) -> tensor<40x3x2xi32> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %y : tensor<i32>
  }) : (tensor<40x3x2xi32>, tensor<1xi32>, tensor<40x2xi32>) -> tensor<40x3x2xi32>
  return %0 : tensor<40x3x2xi32>
}
// -----
// a line too long: remains a scatter
func.func @main(%a: tensor<20x100xf32>, %i: tensor<20x1xi32>, %v: tensor<20xf32>) -> tensor<20x100xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<20x100xf32>, tensor<20x1xi32>, tensor<20xf32>) -> tensor<20x100xf32>
  return %0 : tensor<20x100xf32>
}
// -----
// indices outside of their lines
func.func @main(%a: tensor<16x4xf32>, %v: tensor<16xf32>) -> tensor<16x4xf32> {
  %c = stablehlo.constant dense<-2> : tensor<i32>
  %n = stablehlo.iota dim = 0 : tensor<16xi32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
  %i = stablehlo.add %n, %b : tensor<16xi32>
  %0 = "stablehlo.scatter"(%a, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<16xi32>, tensor<16xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
// -----
// A few windows in a loop, some of them outside, become updates of slices: rows at two indices,
func.func @main(%n: tensor<i32>, %a: tensor<6x3x5xf32>, %i: tensor<1x3x2xi32>, %u: tensor<1x5x3xf32>) -> tensor<6x3x5xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %some = stablehlo.minimum %n, %four : tensor<i32>
  %limit = stablehlo.maximum %some, %one : tensor<i32>
  %r:2 = stablehlo.while(%k = %zero, %x = %a) : tensor<i32>, tensor<6x3x5xf32> cond {
    %p = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %ks = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i32>) -> tensor<1x3x2xi32>
    %at = stablehlo.subtract %i, %ks : tensor<1x3x2xi32>
    %w = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>}> ({
    ^bb0(%s: tensor<f32>, %t: tensor<f32>):
      %st = stablehlo.add %s, %t : tensor<f32>
      stablehlo.return %st : tensor<f32>
    }) : (tensor<6x3x5xf32>, tensor<1x3x2xi32>, tensor<1x5x3xf32>) -> tensor<6x3x5xf32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %w : tensor<i32>, tensor<6x3x5xf32>
  }
  return %r#1 : tensor<6x3x5xf32>
}
// -----
// windows of a batch,
func.func @main(%n: tensor<i32>, %a: tensor<3x7x2xi32>, %i: tensor<1x3xi32>, %u: tensor<3x2xi32>) -> tensor<3x7x2xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %some = stablehlo.minimum %n, %four : tensor<i32>
  %limit = stablehlo.maximum %some, %one : tensor<i32>
  %r:2 = stablehlo.while(%k = %zero, %x = %a) : tensor<i32>, tensor<3x7x2xi32> cond {
    %p = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %ks = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i32>) -> tensor<1x3xi32>
    %at = stablehlo.subtract %i, %ks : tensor<1x3xi32>
    %w = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 0>}> ({
    ^bb0(%s: tensor<i32>, %t: tensor<i32>):
      stablehlo.return %t : tensor<i32>
    }) : (tensor<3x7x2xi32>, tensor<1x3xi32>, tensor<3x2xi32>) -> tensor<3x7x2xi32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %w : tensor<i32>, tensor<3x7x2xi32>
  }
  return %r#1 : tensor<3x7x2xi32>
}
// -----
// and single elements.
func.func @main(%n: tensor<i32>, %a: tensor<9xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<9xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %some = stablehlo.minimum %n, %four : tensor<i32>
  %limit = stablehlo.maximum %some, %one : tensor<i32>
  %r:2 = stablehlo.while(%k = %zero, %x = %a) : tensor<i32>, tensor<9xf32> cond {
    %p = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %ks = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %at = stablehlo.subtract %i, %ks : tensor<4x1xi32>
    %w = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%s: tensor<f32>, %t: tensor<f32>):
      %st = stablehlo.maximum %s, %t : tensor<f32>
      stablehlo.return %st : tensor<f32>
    }) : (tensor<9xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<9xf32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %w : tensor<i32>, tensor<9xf32>
  }
  return %r#1 : tensor<9xf32>
}
// -----
// General bodies: loops over the windows. Several index dimensions, some windows out of range, a
// captured scalar.
func.func @main(%a: tensor<5x7x6xf32>, %i: tensor<2x3x4xi32>, %u: tensor<3x2x4x3xf32>, %s: tensor<f32>) -> tensor<5x7x6xf32> {
  %one = stablehlo.constant dense<1> : tensor<2x3x4xi32>
  %at = stablehlo.subtract %i, %one : tensor<2x3x4xi32>
  %0 = "stablehlo.scatter"(%a, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2, 0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %1 = stablehlo.multiply %x, %half : tensor<f32>
    %2 = stablehlo.multiply %y, %s : tensor<f32>
    %3 = stablehlo.subtract %1, %2 : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<5x7x6xf32>, tensor<2x3x4xi32>, tensor<3x2x4x3xf32>) -> tensor<5x7x6xf32>
  return %0 : tensor<5x7x6xf32>
}
// -----
// The same with a batch.
func.func @main(%a: tensor<3x9x4xi16>, %i: tensor<5x3xi64>, %u: tensor<5x3x4xi16>) -> tensor<3x9x4xi16> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<i16>, %y: tensor<i16>):
    %1 = stablehlo.subtract %y, %x : tensor<i16>
    stablehlo.return %1 : tensor<i16>
  }) : (tensor<3x9x4xi16>, tensor<5x3xi64>, tensor<5x3x4xi16>) -> tensor<3x9x4xi16>
  return %0 : tensor<3x9x4xi16>
}
// -----
// Products of complex numbers, in place.
func.func @main(%a: tensor<11xcomplex<f32>>, %i: tensor<40x1xi32>, %u: tensor<40xcomplex<f32>>, %b: tensor<6x5xcomplex<f64>>, %v: tensor<40x5xcomplex<f64>>) -> (tensor<11xcomplex<f32>>, tensor<6x5xcomplex<f64>>) {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %1 = stablehlo.multiply %x, %y : tensor<complex<f32>>
    stablehlo.return %1 : tensor<complex<f32>>
  }) : (tensor<11xcomplex<f32>>, tensor<40x1xi32>, tensor<40xcomplex<f32>>) -> tensor<11xcomplex<f32>>
  %2 = "stablehlo.scatter"(%b, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<complex<f64>>, %y: tensor<complex<f64>>):
    %3 = stablehlo.add %x, %y : tensor<complex<f64>>
    %4 = stablehlo.subtract %3, %x : tensor<complex<f64>>
    stablehlo.return %4 : tensor<complex<f64>>
  }) : (tensor<6x5xcomplex<f64>>, tensor<40x1xi32>, tensor<40x5xcomplex<f64>>) -> tensor<6x5xcomplex<f64>>
  return %0, %2 : tensor<11xcomplex<f32>>, tensor<6x5xcomplex<f64>>
}
