// Ops and attributes that StableHLO had from its first stable version, 0.9.
module @basic attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%x: tensor<2x3xf32> {mhlo.sharding = "{replicated}", test.index = 3 : index}, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<2x3xf32> {jax.result_info = "[0]"}, tensor<3x2xf32>) {
    %0 = stablehlo.constant dense<[[1.0, -0.5, 0x7FC00000], [0xFF800000, 3.0e-38, 4.0]]> : tensor<2x3xf32>
    %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %3 = "stablehlo.if"(%p) ({
      stablehlo.return %1 : tensor<2x3xf32>
    }, {
      %9 = stablehlo.negate %x : tensor<2x3xf32>
      stablehlo.return %9 : tensor<2x3xf32>
    }) : (tensor<i1>) -> tensor<2x3xf32>
    %4 = "stablehlo.case"(%n) ({
      stablehlo.return %2 : tensor<3x2xf32>
    }, {
      stablehlo.return %2 : tensor<3x2xf32>
    }) : (tensor<i32>) -> tensor<3x2xf32>
    return %3, %4 : tensor<2x3xf32>, tensor<3x2xf32>
  }
  func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
  func.func private @literals() -> (tensor<9xi1>, tensor<12xi1>, tensor<5xi1>, tensor<4xi4>, tensor<3xui4>, tensor<2xcomplex<f32>>, tensor<4xcomplex<f64>>, tensor<0x4xf32>, tensor<3xbf16>, tensor<2xf8E4M3FN>, tensor<2xui64>, tensor<f64>) {
    %0 = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
    %1 = stablehlo.constant dense<true> : tensor<12xi1>
    %2 = stablehlo.constant dense<false> : tensor<5xi1>
    %3 = stablehlo.constant dense<[-8, -1, 0, 7]> : tensor<4xi4>
    %4 = stablehlo.constant dense<[0, 9, 15]> : tensor<3xui4>
    %5 = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.0)]> : tensor<2xcomplex<f32>>
    %6 = stablehlo.constant dense<(0.5, -0.25)> : tensor<4xcomplex<f64>>
    %7 = stablehlo.constant dense<> : tensor<0x4xf32>
    %8 = stablehlo.constant dense<[1.0, 2.0, -3.5]> : tensor<3xbf16>
    %9 = stablehlo.constant dense<[1.0, -448.0]> : tensor<2xf8E4M3FN>
    %10 = stablehlo.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
    %11 = stablehlo.constant dense<3.141592653589793> : tensor<f64>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<9xi1>, tensor<12xi1>, tensor<5xi1>, tensor<4xi4>, tensor<3xui4>, tensor<2xcomplex<f32>>, tensor<4xcomplex<f64>>, tensor<0x4xf32>, tensor<3xbf16>, tensor<2xf8E4M3FN>, tensor<2xui64>, tensor<f64>
  }
  func.func private @structs(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %i: tensor<5x1xi32>, %img: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>, %m: tensor<8x8xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>, indices_are_sorted = true} : (tensor<4x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
    %2 = "stablehlo.scatter"(%a, %i, %1) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.convolution(%img, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x3x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.maximum %l, %r : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {window_dimensions = array<i64: 2, 2>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x7xf32>
    %5 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %6 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %7 = stablehlo.pad %a, %z, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x16xf32>
    %8 = "stablehlo.triangular_solve"(%m, %m) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %10 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    %11 = "stablehlo.sort"(%a) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @effects(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, !stablehlo.token) {
    %0:2 = stablehlo.while(%a = %x, %b = %x) : tensor<4x4xf32>, tensor<4x4xf32> attributes {test.note = "loop"}
     cond {
      %9 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = func.call @callee(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      stablehlo.return %9, %a : tensor<4x4xf32>, tensor<4x4xf32>
    }
    %1 = "stablehlo.all_reduce"(%0#0) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>, use_global_device_ids} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.custom_call @target(%1, %x) {api_version = 2 : i32, backend_config = "config", has_side_effect = true, called_computations = [@callee], operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.create_token : !stablehlo.token
    %4 = "stablehlo.send"(%2, %3) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
    %5:2 = "stablehlo.recv"(%4) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
    %6 = stablehlo.tuple %2, %5#1 : tuple<tensor<4x4xf32>, !stablehlo.token>
    %7 = stablehlo.get_tuple_element %6[1] : (tuple<tensor<4x4xf32>, !stablehlo.token>) -> !stablehlo.token
    return %2, %7 : tensor<4x4xf32>, !stablehlo.token
  }
  func.func private @callee(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.exponential"(%x) {test.list = [1 : i64, "two", 3.5 : f32, f32]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func private @dynamic(%x: tensor<?x4xf32>, %b: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %s: tensor<2xindex>) -> tensor<?x?xf32> {
    %0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    %1 = stablehlo.add %b, %b : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
    return %0 : tensor<?x?xf32>
  }
}
