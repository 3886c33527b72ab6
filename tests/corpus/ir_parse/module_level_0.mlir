module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func private @decl(tensor<2xf32>, tensor<?xf32, #stablehlo.bounds<5>>) -> tensor<f32>
  func.func @"odd name"(%arg0: tensor<4xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}) -> (tensor<4xf32> {jax.result_info = "result"}) attributes {a = [1 : i64, unit, @b::@c], b = {c = array<i32: 1, 2>}, d = f32, e = affine_map<(d0) -> (d0)>} {
    return %arg0 : tensor<4xf32>
  }
}
