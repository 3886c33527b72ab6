// Replica groups given by the axes of a mesh, and tensors on meshes of Shardy.
module @meshes {
  sdy.mesh @m = <["x"=2, "y"=4]>
  sdy.mesh @shuffled = <["x"=2], device_ids=[1, 0]>
  func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y":(1)2}, {?}p1], replicated={"y":(2)2}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=8]>, [{}, {"z", ?}]>}) {
    %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@m, [{}, {"x"}]> : tensor<8x8xf32>
    %2 = sdy.reshard %1 <@m, [{}, {}]> : tensor<8x8xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
      sdy.return %b : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.custom_call @own_rule(%3) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, j]) {i=8, j=8, k=8} reduction={k}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
}
