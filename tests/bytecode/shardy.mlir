// Every op and attribute of Shardy that meshes.mlir does not have.
module @shardy {
  sdy.mesh @m = <["x"=2, "y"=2, "z"=4]>
  sdy.mesh @device = <[], device_ids=[3]>
  func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"x", "z":(1)2}]>}, %p: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}], unreduced={"y"}>}, %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
    %0 = sdy.all_gather [{}, {"x", "z":(1)2}] %a out_sharding=<@m, [{"y"}, {}]> : tensor<16x8xf32>
    %1 = sdy.all_slice [{}, {"x"}] %0 out_sharding=<@m, [{"y"}, {"x"}]> : tensor<16x8xf32>
    %2 = sdy.all_to_all [{"y"}: 0->1] %1 out_sharding=<@m, [{}, {"x", "y"}]> : tensor<16x8xf32>
    %3 = sdy.collective_permute %2 out_sharding=<@m, [{}, {"z"}]> : tensor<16x8xf32>
    %4 = sdy.all_reduce {"y"} %p out_sharding=<@m, [{"x"}, {}]> : tensor<16x8xf32>
    %5 = sdy.reduce_scatter [{"y"}, {}] %p out_sharding=<@m, [{"x", "y"}, {}]> : tensor<16x8xf32>
    %6 = sdy.sharded_to_unreduced [{"x"}, {}] %4 out_sharding=<@m, [{}, {}], unreduced={"x"}> : tensor<16x8xf32>
    %7 = sdy.replicated_to_unreduced {"x", "z":(2)2} %b out_sharding=<@m, [{}, {}], unreduced={"x", "z":(2)2}> : tensor<16x8xf32>
    %8 = sdy.constant dense<1.000000e+00> : tensor<16x8xf32>
    %9:2 = sdy.named_computation<"pair">(%3, %8) in_shardings=[<@m, [{"x"}, {?}]>, <@m, [{?}, {?}]>] (%c: tensor<16x8xf32>, %d: tensor<16x8xf32>) {
      sdy.return %d, %c : tensor<16x8xf32>, tensor<16x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
    %10 = sdy.named_computation<"one">(%5) out_shardings=[<@m, [{"z"}, {}]>] (%c: tensor<16x8xf32>) {
      sdy.return %c : tensor<16x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %11 = stablehlo.add %6, %7 {sdy.propagation_edges = #sdy.propagation_edges<[{step-2 = [{"y" = operand-1 -> [operand-0, result-0]}]}, {step-3 = [{"x" = result-0 -> [operand-0]}]}]>, sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}p2, {"x"}p0], replicated={"z"}>]>} : tensor<16x8xf32>
    %12 = sdy.data_flow_edge %11 sharding=<@m, [{"x"}, {?}]> : tensor<16x8xf32>
    %13 = stablehlo.add %9#0, %9#1 : tensor<16x8xf32>
    %14 = sdy.data_flow_edge %13 : tensor<16x8xf32>
    %15 = sdy.propagation_barrier %14 allowed_direction=BACKWARD : tensor<16x8xf32>
    sdy.sharding_group %15 group_id=3 : tensor<16x8xf32>
    %16 = call @f(%10) : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %17 = sdy.func_data_flow_edge %16 : tensor<16x8xf32>
    return %12, %15, %17 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
  func.func private @f(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = sdy.func_data_flow_edge %a : tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
