#map = affine_map<(d0) -> (d0)>
!alias = tuple<tensor<f32>, !stablehlo.token, memref<2xf32>, none>
module attributes {a = #map, b = [1, 2.5, -3 : i8, 0x7FC00000 : f32], c = "\22\n", d = @f::@g, e = array<i64: 1>, f = array<i1: true>, g = array<f32: 1.0>, h = tensor<?x4xf32, #stablehlo.bounds<3, ?>>, i = !alias, j = (tensor<f32>) -> (), k, l = tf32, m = #other.thing<"x", [1]>, n = dense<[1, 0]> : tensor<2xindex>, o = #stablehlo<precision HIGH>, q = tensor<2xf32, #sparse.encoding<x>>} {
}
