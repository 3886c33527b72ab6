// Ops and attributes that came after StableHLO 1.0.
module @recent {
  func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-05, rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %3 = stablehlo.tan %a : tensor<4x8xf32>
    %4 = stablehlo.composite "test.op" %a {composite_attributes = {n = 1 : i64, s = "x"}, decomposition = @body, version = 3 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5:2 = "stablehlo.all_gather"(%a, %a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    %6 = stablehlo.custom_call @ffi(%a) {api_version = 4 : i32, backend_config = {flag = true, value = 2.5 : f64}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %7 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @dynamic_root(%a: tensor<4xf32>, %root: tensor<1xi32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_broadcast"(%a, %root) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @body(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %a : tensor<4x8xf32>
  }
  func.func private @types(%a: tensor<4xi2>, %b: tensor<4xf4E2M1FN>, %c: tensor<4xf8E8M0FNU>, %d: tensor<4xf6E2M3FN>, %e: tensor<2xf8E3M4>) -> tensor<4xi2> {
    %0 = stablehlo.constant dense<[-2, -1, 0, 1]> : tensor<4xi2>
    %1 = stablehlo.constant dense<[6.0, -0.5, 0.0, 1.0]> : tensor<4xf4E2M1FN>
    return %0 : tensor<4xi2>
  }
}
