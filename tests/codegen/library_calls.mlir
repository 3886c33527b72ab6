// Ops that compiled programs compute by library calls: with regions, captured values, several
// results.

// A reducer that captures a value of the function, and one of an enclosing loop.
func.func @main(%x: tensor<5x6xf32>, %k: tensor<f32>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<3> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %start = stablehlo.constant dense<0.0> : tensor<5xf32>
  %0:3 = stablehlo.while(%i = %zero, %s = %start, %c = %k)
      : tensor<i32>, tensor<5xf32>, tensor<f32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = "stablehlo.reduce"(%x, %init) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %m = stablehlo.multiply %b, %c : tensor<f32>
        %n = stablehlo.add %m, %k : tensor<f32>
        %t = stablehlo.add %a, %n : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }) {dimensions = array<i64: 1>} : (tensor<5x6xf32>, tensor<f32>) -> tensor<5xf32>
      %u = stablehlo.add %s, %r : tensor<5xf32>
      %d = stablehlo.add %c, %c : tensor<f32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %u, %d : tensor<i32>, tensor<5xf32>, tensor<f32>
    }
  return %0#1 : tensor<5xf32>
}
// -----
// Two operands sorted together, scattered additions, a sum over windows.
func.func @main(%k: tensor<20xf32>, %v: tensor<20xi32>, %x: tensor<9xf32>, %at: tensor<4x1xi32>,
                %u: tensor<4xf32>) -> (tensor<20xf32>, tensor<20xi32>, tensor<9xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.sort"(%k, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true}
      : (tensor<20xf32>, tensor<20xi32>) -> (tensor<20xf32>, tensor<20xi32>)
  %1 = "stablehlo.scatter"(%x, %at, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = false}
      : (tensor<9xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<9xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%1, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}
      : (tensor<9xf32>, tensor<f32>) -> tensor<4xf32>
  return %0#0, %0#1, %1, %2 : tensor<20xf32>, tensor<20xi32>, tensor<9xf32>, tensor<4xf32>
}
// -----
// Matrices, factorisations, transforms, random bits.
func.func @main(%a: tensor<6x6xf32>, %b: tensor<6x3xf32>, %s: tensor<2xui64>)
    -> (tensor<6x3xf32>, tensor<6x6xf32>, tensor<6x4xcomplex<f32>>, tensor<2xui64>, tensor<5xui32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<6x6xf32>, tensor<6x3xf32>) -> tensor<6x3xf32>
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %2 = stablehlo.dot_general %a, %1, contracting_dims = [1] x [0]
      : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %3 = "stablehlo.cholesky"(%2) {lower = true} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %4 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 6>}
      : (tensor<6x6xf32>) -> tensor<6x4xcomplex<f32>>
  %5:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  return %0, %3, %4, %5#0, %5#1
      : tensor<6x3xf32>, tensor<6x6xf32>, tensor<6x4xcomplex<f32>>, tensor<2xui64>, tensor<5xui32>
}
// -----
// Element types and their conversions.
func.func @main(%x: tensor<33xf32>) -> (tensor<33xbf16>, tensor<33xf16>, tensor<33xf64>, tensor<33xi8>,
    tensor<33xi1>, tensor<33xcomplex<f32>>, tensor<33xui16>) {
  %0 = stablehlo.convert %x : (tensor<33xf32>) -> tensor<33xbf16>
  %1 = stablehlo.convert %x : (tensor<33xf32>) -> tensor<33xf16>
  %2 = stablehlo.convert %x : (tensor<33xf32>) -> tensor<33xf64>
  %3 = stablehlo.convert %x : (tensor<33xf32>) -> tensor<33xi8>
  %4 = stablehlo.compare GT, %x, %x : (tensor<33xf32>, tensor<33xf32>) -> tensor<33xi1>
  %5 = stablehlo.complex %x, %x : tensor<33xcomplex<f32>>
  %6 = stablehlo.convert %3 : (tensor<33xi8>) -> tensor<33xui16>
  %7 = stablehlo.add %0, %0 : tensor<33xbf16>
  %8 = stablehlo.multiply %1, %1 : tensor<33xf16>
  %9 = stablehlo.add %2, %2 : tensor<33xf64>
  return %7, %8, %9, %3, %4, %5, %6 : tensor<33xbf16>, tensor<33xf16>, tensor<33xf64>, tensor<33xi8>,
    tensor<33xi1>, tensor<33xcomplex<f32>>, tensor<33xui16>
}
// -----
// Tokens order effects; barriers pass values through; custom calls of the library.
func.func @main(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4x3xf32>, tensor<4x3xi32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %w = "hlo.add_dependency"(%x, %u) : (tensor<4x9xf32>, !stablehlo.token) -> tensor<4x9xf32>
  %0 = stablehlo.negate %w : tensor<4x9xf32>
  %1:2 = stablehlo.optimization_barrier %0, %x : tensor<4x9xf32>, tensor<4x9xf32>
  %2 = stablehlo.add %1#0, %1#1 : tensor<4x9xf32>
  %3 = stablehlo.add %2, %1#0 : tensor<4x9xf32>
  %4:2 = chlo.top_k(%3, k = 3) : tensor<4x9xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %5 = stablehlo.custom_call @Sharding(%3) : (tensor<4x9xf32>) -> tensor<4x9xf32>
  return %5, %4#0, %4#1 : tensor<4x9xf32>, tensor<4x3xf32>, tensor<4x3xi32>
}
// -----
// Arrays as buffers and back; a pinned buffer does not change with the array.
func.func @main(%x: tensor<4x9xf32>, %i: tensor<i32>) -> (tensor<4x9xf32>, tensor<4x9xf32>, tensor<3xi64>) {
  %0 = stablehlo.add %x, %x : tensor<4x9xf32>
  %b = stablehlo.custom_call @Pin(%0) : (tensor<4x9xf32>) -> memref<4x9xf32>
  %u = stablehlo.slice %x [0:2, 0:3] : (tensor<4x9xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.dynamic_update_slice %0, %u, %i, %i : (tensor<4x9xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x9xf32>
  %2 = stablehlo.custom_call @Unpin(%b) : (memref<4x9xf32>) -> tensor<4x9xf32>
  %c = stablehlo.custom_call @CreateBuffer() : () -> memref<3xi64>
  %3 = stablehlo.custom_call @Unpin(%c) : (memref<3xi64>) -> tensor<3xi64>
  return %1, %2, %3 : tensor<4x9xf32>, tensor<4x9xf32>, tensor<3xi64>
}
// -----
// Factorisations that overwrite a copy of their operand, also if the operand is used later.
func.func @main(%x: tensor<40x40xf32>, %y: tensor<3x5x5xf64>) -> (tensor<40x40xf32>, tensor<40x40xf32>, tensor<3x5x5xf64>) {
  %0 = stablehlo.multiply %x, %x : tensor<40x40xf32>
  %a:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%0) {mhlo.backend_config = {}} : (tensor<40x40xf32>) -> (tensor<40x40xf32>, tensor<40xf32>)
  %q = stablehlo.custom_call @lapack_sorgqr_ffi(%a#0, %a#1) {mhlo.backend_config = {}} : (tensor<40x40xf32>, tensor<40xf32>) -> tensor<40x40xf32>
  %i = stablehlo.iota dim = 0 : tensor<40x40xi32>
  %j = stablehlo.iota dim = 1 : tensor<40x40xi32>
  %e = stablehlo.compare EQ, %i, %j : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
  %f = stablehlo.constant dense<20.0> : tensor<40x40xf32>
  %b = stablehlo.add %q, %x : tensor<40x40xf32>
  %t = stablehlo.select %e, %f, %a#0 : tensor<40x40xi1>, tensor<40x40xf32>
  %s = stablehlo.custom_call @lapack_strsm_ffi(%t, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %r = stablehlo.custom_call @lapack_strsm_ffi(%t, %s) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %g = stablehlo.add %y, %y : tensor<3x5x5xf64>
  %l:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%g) {mhlo.backend_config = {}} : (tensor<3x5x5xf64>) -> (tensor<3x5x5xf64>, tensor<3x5xi32>, tensor<3xi32>)
  %m = stablehlo.add %l#0, %g : tensor<3x5x5xf64>
  return %r, %q, %m : tensor<40x40xf32>, tensor<40x40xf32>, tensor<3x5x5xf64>
}
// -----
// A map, whose body becomes ops of whole values.
func.func @main(%a: tensor<7x5xf32>, %b: tensor<7x5xf32>, %c: tensor<f32>) -> tensor<7x5xf32> {
  %0 = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.multiply %x, %c : tensor<f32>
    %2 = stablehlo.add %1, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}

// -----
// Stateful random numbers, numbers of processes, checks.

func.func @main(%x: tensor<5xf32>, %i: tensor<5xi16>) -> (tensor<70xf32>, tensor<3x5xbf16>, tensor<9xi8>, tensor<ui32>, tensor<i1>) {
  %a = stablehlo.constant dense<-1.5> : tensor<f32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %s = stablehlo.constant dense<[70]> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<70xf32>
  %c = stablehlo.constant dense<-1.5> : tensor<bf16>
  %d = stablehlo.constant dense<2.0> : tensor<bf16>
  %t = stablehlo.constant dense<[3, 5]> : tensor<2xi64>
  %1 = stablehlo.rng %c, %d, %t, distribution = NORMAL : (tensor<bf16>, tensor<bf16>, tensor<2xi64>) -> tensor<3x5xbf16>
  %e = stablehlo.constant dense<-7> : tensor<i8>
  %f = stablehlo.constant dense<100> : tensor<i8>
  %u = stablehlo.constant dense<[9]> : tensor<1xi64>
  %2 = stablehlo.rng %e, %f, %u, distribution = UNIFORM : (tensor<i8>, tensor<i8>, tensor<1xi64>) -> tensor<9xi8>
  %3 = stablehlo.replica_id : tensor<ui32>
  %4 = stablehlo.partition_id : tensor<ui32>
  %5 = stablehlo.add %3, %4 : tensor<ui32>
  check.expect_eq %x, %x : tensor<5xf32>
  check.expect_almost_eq %x, %x : tensor<5xf32>
  check.expect_close %x, %x, max_ulp_difference = 1 : tensor<5xf32>, tensor<5xf32>
  check.expect_eq_const %5, dense<0> : tensor<ui32>
  %6 = stablehlo.custom_call @check.eq(%i, %i) : (tensor<5xi16>, tensor<5xi16>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%6, %5) {error_message = "{0}", has_side_effect = true} : (tensor<i1>, tensor<ui32>) -> ()
  return %0, %1, %2, %5, %6 : tensor<70xf32>, tensor<3x5xbf16>, tensor<9xi8>, tensor<ui32>, tensor<i1>
}
