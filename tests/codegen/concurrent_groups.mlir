// SPDX-License-Identifier: Apache-2.0
// Concurrent kernels: independent updates of arguments that may be donated, two concurrent groups
// in sequence, slices updated in a loop; small products, and some that compute invariant values
// before a loop.
func.func @main(%t: tensor<f32>, %p0: tensor<24000xf32> {tf.aliasing_output = 0 : i32}, %m0: tensor<24000xf32>, %g0: tensor<24000xf32>, %p1: tensor<150x160xf32> {tf.aliasing_output = 2 : i32}, %m1: tensor<150x160xf32>, %g1: tensor<150x160xf32>, %p2: tensor<60x20x20xf32> {tf.aliasing_output = 4 : i32}, %m2: tensor<60x20x20xf32>, %g2: tensor<60x20x20xf32>, %p3: tensor<48000xbf16> {tf.aliasing_output = 6 : i32}, %m3: tensor<48000xbf16>, %g3: tensor<48000xbf16>, %p4: tensor<24000xf32> {tf.aliasing_output = 8 : i32}, %m4: tensor<24000xf32>, %g4: tensor<24000xf32>, %p5: tensor<12000xf64> {tf.aliasing_output = 10 : i32}, %m5: tensor<12000xf64>, %g5: tensor<12000xf64>, %p6: tensor<24000xf32> {tf.aliasing_output = 12 : i32}, %m6: tensor<24000xf32>, %g6: tensor<24000xf32>, %p7: tensor<31x800xf32> {tf.aliasing_output = 14 : i32}, %m7: tensor<31x800xf32>, %g7: tensor<31x800xf32>) -> (tensor<24000xf32>, tensor<24000xf32>, tensor<150x160xf32>, tensor<150x160xf32>, tensor<60x20x20xf32>, tensor<60x20x20xf32>, tensor<48000xbf16>, tensor<48000xbf16>, tensor<24000xf32>, tensor<24000xf32>, tensor<12000xf64>, tensor<12000xf64>, tensor<24000xf32>, tensor<24000xf32>, tensor<31x800xf32>, tensor<31x800xf32>) {
  %h = stablehlo.constant dense<0.5> : tensor<f32>
  %r = stablehlo.multiply %t, %h : tensor<f32>
  %b0 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<24000xf32>
  %x0 = stablehlo.multiply %m0, %b0 : tensor<24000xf32>
  %n0 = stablehlo.add %x0, %g0 : tensor<24000xf32>
  %s0 = stablehlo.tanh %n0 : tensor<24000xf32>
  %u0 = stablehlo.multiply %s0, %b0 : tensor<24000xf32>
  %q0 = stablehlo.subtract %p0, %u0 : tensor<24000xf32>
  %b1 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<150x160xf32>
  %x1 = stablehlo.multiply %m1, %b1 : tensor<150x160xf32>
  %n1 = stablehlo.add %x1, %g1 : tensor<150x160xf32>
  %s1 = stablehlo.tanh %n1 : tensor<150x160xf32>
  %u1 = stablehlo.multiply %s1, %b1 : tensor<150x160xf32>
  %q1 = stablehlo.subtract %p1, %u1 : tensor<150x160xf32>
  %b2 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<60x20x20xf32>
  %x2 = stablehlo.multiply %m2, %b2 : tensor<60x20x20xf32>
  %n2 = stablehlo.add %x2, %g2 : tensor<60x20x20xf32>
  %s2 = stablehlo.tanh %n2 : tensor<60x20x20xf32>
  %u2 = stablehlo.multiply %s2, %b2 : tensor<60x20x20xf32>
  %q2 = stablehlo.subtract %p2, %u2 : tensor<60x20x20xf32>
  %c3 = stablehlo.convert %r : (tensor<f32>) -> tensor<bf16>
  %b3 = stablehlo.broadcast_in_dim %c3, dims = [] : (tensor<bf16>) -> tensor<48000xbf16>
  %x3 = stablehlo.multiply %m3, %b3 : tensor<48000xbf16>
  %n3 = stablehlo.add %x3, %g3 : tensor<48000xbf16>
  %s3 = stablehlo.tanh %n3 : tensor<48000xbf16>
  %u3 = stablehlo.multiply %s3, %b3 : tensor<48000xbf16>
  %q3 = stablehlo.subtract %p3, %u3 : tensor<48000xbf16>
  %b4 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<24000xf32>
  %x4 = stablehlo.multiply %m4, %b4 : tensor<24000xf32>
  %n4 = stablehlo.add %x4, %g4 : tensor<24000xf32>
  %s4 = stablehlo.tanh %n4 : tensor<24000xf32>
  %u4 = stablehlo.multiply %s4, %b4 : tensor<24000xf32>
  %q4 = stablehlo.subtract %p4, %u4 : tensor<24000xf32>
  %c5 = stablehlo.convert %r : (tensor<f32>) -> tensor<f64>
  %b5 = stablehlo.broadcast_in_dim %c5, dims = [] : (tensor<f64>) -> tensor<12000xf64>
  %x5 = stablehlo.multiply %m5, %b5 : tensor<12000xf64>
  %n5 = stablehlo.add %x5, %g5 : tensor<12000xf64>
  %s5 = stablehlo.tanh %n5 : tensor<12000xf64>
  %u5 = stablehlo.multiply %s5, %b5 : tensor<12000xf64>
  %q5 = stablehlo.subtract %p5, %u5 : tensor<12000xf64>
  %b6 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<24000xf32>
  %x6 = stablehlo.multiply %m6, %b6 : tensor<24000xf32>
  %n6 = stablehlo.add %x6, %g6 : tensor<24000xf32>
  %s6 = stablehlo.tanh %n6 : tensor<24000xf32>
  %u6 = stablehlo.multiply %s6, %b6 : tensor<24000xf32>
  %q6 = stablehlo.subtract %p6, %u6 : tensor<24000xf32>
  %b7 = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<31x800xf32>
  %x7 = stablehlo.multiply %m7, %b7 : tensor<31x800xf32>
  %n7 = stablehlo.add %x7, %g7 : tensor<31x800xf32>
  %s7 = stablehlo.tanh %n7 : tensor<31x800xf32>
  %u7 = stablehlo.multiply %s7, %b7 : tensor<31x800xf32>
  %q7 = stablehlo.subtract %p7, %u7 : tensor<31x800xf32>
  return %q0, %n0, %q1, %n1, %q2, %n2, %q3, %n3, %q4, %n4, %q5, %n5, %q6, %n6, %q7, %n7 : tensor<24000xf32>, tensor<24000xf32>, tensor<150x160xf32>, tensor<150x160xf32>, tensor<60x20x20xf32>, tensor<60x20x20xf32>, tensor<48000xbf16>, tensor<48000xbf16>, tensor<24000xf32>, tensor<24000xf32>, tensor<12000xf64>, tensor<12000xf64>, tensor<24000xf32>, tensor<24000xf32>, tensor<31x800xf32>, tensor<31x800xf32>
}

// -----

func.func @main(%a0: tensor<150x160xf32>, %a1: tensor<150x160xf32>, %a2: tensor<300x81xf32>, %a3: tensor<1000x24xf32>, %a4: tensor<24x1000xf32>, %a5: tensor<31x777xf32>, %a6: tensor<150x160xf32>, %a7: tensor<500x500xf32>) -> (tensor<24000xf32>, tensor<24000xf32>, tensor<24300xf32>, tensor<24000xf32>, tensor<24000xf32>, tensor<24087xf32>, tensor<24000xf32>, tensor<250000xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s0 = stablehlo.reduce(%a0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<150x160xf32>, tensor<f32>) -> tensor<160xf32>
  %s1 = stablehlo.reduce(%a1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<150x160xf32>, tensor<f32>) -> tensor<150xf32>
  %s2 = stablehlo.reduce(%a2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300x81xf32>, tensor<f32>) -> tensor<81xf32>
  %s3 = stablehlo.reduce(%a3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1000x24xf32>, tensor<f32>) -> tensor<1000xf32>
  %s4 = stablehlo.reduce(%a4 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<24x1000xf32>, tensor<f32>) -> tensor<1000xf32>
  %s5 = stablehlo.reduce(%a5 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<31x777xf32>, tensor<f32>) -> tensor<31xf32>
  %s6 = stablehlo.reduce(%a6 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<150x160xf32>, tensor<f32>) -> tensor<160xf32>
  %s7 = stablehlo.reduce(%a7 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<500x500xf32>, tensor<f32>) -> tensor<500xf32>
  %b0 = stablehlo.broadcast_in_dim %s0, dims = [1] : (tensor<160xf32>) -> tensor<150x160xf32>
  %d0 = stablehlo.subtract %a0, %b0 : tensor<150x160xf32>
  %e0 = stablehlo.exponential %d0 : tensor<150x160xf32>
  %f0 = stablehlo.reshape %e0 : (tensor<150x160xf32>) -> tensor<24000xf32>
  %b1 = stablehlo.broadcast_in_dim %s1, dims = [0] : (tensor<150xf32>) -> tensor<150x160xf32>
  %d1 = stablehlo.subtract %a1, %b1 : tensor<150x160xf32>
  %e1 = stablehlo.exponential %d1 : tensor<150x160xf32>
  %f1 = stablehlo.reshape %e1 : (tensor<150x160xf32>) -> tensor<24000xf32>
  %b2 = stablehlo.broadcast_in_dim %s2, dims = [1] : (tensor<81xf32>) -> tensor<300x81xf32>
  %d2 = stablehlo.subtract %a2, %b2 : tensor<300x81xf32>
  %e2 = stablehlo.exponential %d2 : tensor<300x81xf32>
  %f2 = stablehlo.reshape %e2 : (tensor<300x81xf32>) -> tensor<24300xf32>
  %b3 = stablehlo.broadcast_in_dim %s3, dims = [0] : (tensor<1000xf32>) -> tensor<1000x24xf32>
  %d3 = stablehlo.subtract %a3, %b3 : tensor<1000x24xf32>
  %e3 = stablehlo.exponential %d3 : tensor<1000x24xf32>
  %f3 = stablehlo.reshape %e3 : (tensor<1000x24xf32>) -> tensor<24000xf32>
  %b4 = stablehlo.broadcast_in_dim %s4, dims = [1] : (tensor<1000xf32>) -> tensor<24x1000xf32>
  %d4 = stablehlo.subtract %a4, %b4 : tensor<24x1000xf32>
  %e4 = stablehlo.exponential %d4 : tensor<24x1000xf32>
  %f4 = stablehlo.reshape %e4 : (tensor<24x1000xf32>) -> tensor<24000xf32>
  %b5 = stablehlo.broadcast_in_dim %s5, dims = [0] : (tensor<31xf32>) -> tensor<31x777xf32>
  %d5 = stablehlo.subtract %a5, %b5 : tensor<31x777xf32>
  %e5 = stablehlo.exponential %d5 : tensor<31x777xf32>
  %f5 = stablehlo.reshape %e5 : (tensor<31x777xf32>) -> tensor<24087xf32>
  %b6 = stablehlo.broadcast_in_dim %s6, dims = [1] : (tensor<160xf32>) -> tensor<150x160xf32>
  %d6 = stablehlo.subtract %a6, %b6 : tensor<150x160xf32>
  %e6 = stablehlo.exponential %d6 : tensor<150x160xf32>
  %f6 = stablehlo.reshape %e6 : (tensor<150x160xf32>) -> tensor<24000xf32>
  %b7 = stablehlo.broadcast_in_dim %s7, dims = [0] : (tensor<500xf32>) -> tensor<500x500xf32>
  %d7 = stablehlo.subtract %a7, %b7 : tensor<500x500xf32>
  %e7 = stablehlo.exponential %d7 : tensor<500x500xf32>
  %f7 = stablehlo.reshape %e7 : (tensor<500x500xf32>) -> tensor<250000xf32>
  return %f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7 : tensor<24000xf32>, tensor<24000xf32>, tensor<24300xf32>, tensor<24000xf32>, tensor<24000xf32>, tensor<24087xf32>, tensor<24000xf32>, tensor<250000xf32>
}

// -----

func.func @main(%n: tensor<i32>, %a0: tensor<90x300xf32>, %a1: tensor<90x300xf32>, %a2: tensor<90x300xf32>, %a3: tensor<90x300xf32>, %a4: tensor<90x300xf32>, %a5: tensor<90x300xf32>, %a6: tensor<90x300xf32>, %a7: tensor<90x300xf32>) -> (tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %most = stablehlo.minimum %n, %three : tensor<i32>
  %0:9 = stablehlo.while(%i = %zero, %v0 = %a0, %v1 = %a1, %v2 = %a2, %v3 = %a3, %v4 = %a4, %v5 = %a5, %v6 = %a6, %v7 = %a7)
      : tensor<i32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>
    cond {
      %p = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %t0 = stablehlo.cosine %v0 : tensor<90x300xf32>
      %w0 = stablehlo.multiply %t0, %v1 : tensor<90x300xf32>
      %l0 = stablehlo.slice %w0 [0:80, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u0 = stablehlo.dynamic_update_slice %v0, %l0, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t1 = stablehlo.cosine %v1 : tensor<90x300xf32>
      %w1 = stablehlo.multiply %t1, %v2 : tensor<90x300xf32>
      %l1 = stablehlo.slice %w1 [1:81, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u1 = stablehlo.dynamic_update_slice %v1, %l1, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t2 = stablehlo.cosine %v2 : tensor<90x300xf32>
      %w2 = stablehlo.multiply %t2, %v3 : tensor<90x300xf32>
      %l2 = stablehlo.slice %w2 [2:82, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u2 = stablehlo.dynamic_update_slice %v2, %l2, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t3 = stablehlo.cosine %v3 : tensor<90x300xf32>
      %w3 = stablehlo.multiply %t3, %v4 : tensor<90x300xf32>
      %l3 = stablehlo.slice %w3 [3:83, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u3 = stablehlo.dynamic_update_slice %v3, %l3, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t4 = stablehlo.cosine %v4 : tensor<90x300xf32>
      %w4 = stablehlo.multiply %t4, %v5 : tensor<90x300xf32>
      %l4 = stablehlo.slice %w4 [4:84, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u4 = stablehlo.dynamic_update_slice %v4, %l4, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t5 = stablehlo.cosine %v5 : tensor<90x300xf32>
      %w5 = stablehlo.multiply %t5, %v6 : tensor<90x300xf32>
      %l5 = stablehlo.slice %w5 [5:85, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u5 = stablehlo.dynamic_update_slice %v5, %l5, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t6 = stablehlo.cosine %v6 : tensor<90x300xf32>
      %w6 = stablehlo.multiply %t6, %v7 : tensor<90x300xf32>
      %l6 = stablehlo.slice %w6 [6:86, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u6 = stablehlo.dynamic_update_slice %v6, %l6, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      %t7 = stablehlo.cosine %v7 : tensor<90x300xf32>
      %w7 = stablehlo.multiply %t7, %v0 : tensor<90x300xf32>
      %l7 = stablehlo.slice %w7 [7:87, 0:300] : (tensor<90x300xf32>) -> tensor<80x300xf32>
      %u7 = stablehlo.dynamic_update_slice %v7, %l7, %j, %zero : (tensor<90x300xf32>, tensor<80x300xf32>, tensor<i32>, tensor<i32>) -> tensor<90x300xf32>
      stablehlo.return %j, %u0, %u1, %u2, %u3, %u4, %u5, %u6, %u7 : tensor<i32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>
    }
  return %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>, tensor<90x300xf32>
}

// -----

func.func @main(%a0: tensor<40x200xf32>, %b0: tensor<96x200xf32>, %a1: tensor<33x150xf32>, %b1: tensor<150x130xf32>, %a2: tensor<64x128xf32>, %b2: tensor<128x128xf32>, %a3: tensor<50x50xf32>, %b3: tensor<50x300xf32>, %a4: tensor<70x180xf32>, %b4: tensor<90x180xf32>, %a5: tensor<48x256xf32>, %b5: tensor<256x64xf32>, %a6: tensor<96x96xf32>, %b6: tensor<96x96xf32>, %a7: tensor<31x222xf32>, %b7: tensor<222x111xf32>) -> (tensor<40x96xf32>, tensor<33x130xf32>, tensor<64x128xf32>, tensor<50x300xf32>, tensor<70x90xf32>, tensor<48x64xf32>, tensor<96x96xf32>, tensor<31x111xf32>) {
  %d0 = stablehlo.dot_general %a0, %b0, contracting_dims = [1] x [1] : (tensor<40x200xf32>, tensor<96x200xf32>) -> tensor<40x96xf32>
  %e0 = stablehlo.tanh %d0 : tensor<40x96xf32>
  %d1 = stablehlo.dot_general %a1, %b1, contracting_dims = [1] x [0] : (tensor<33x150xf32>, tensor<150x130xf32>) -> tensor<33x130xf32>
  %e1 = stablehlo.tanh %d1 : tensor<33x130xf32>
  %d2 = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %e2 = stablehlo.tanh %d2 : tensor<64x128xf32>
  %d3 = stablehlo.dot_general %a3, %b3, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50x300xf32>) -> tensor<50x300xf32>
  %e3 = stablehlo.tanh %d3 : tensor<50x300xf32>
  %d4 = stablehlo.dot_general %a4, %b4, contracting_dims = [1] x [1] : (tensor<70x180xf32>, tensor<90x180xf32>) -> tensor<70x90xf32>
  %e4 = stablehlo.tanh %d4 : tensor<70x90xf32>
  %d5 = stablehlo.dot_general %a5, %b5, contracting_dims = [1] x [0] : (tensor<48x256xf32>, tensor<256x64xf32>) -> tensor<48x64xf32>
  %e5 = stablehlo.tanh %d5 : tensor<48x64xf32>
  %d6 = stablehlo.dot_general %a6, %b6, contracting_dims = [1] x [1] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %e6 = stablehlo.tanh %d6 : tensor<96x96xf32>
  %d7 = stablehlo.dot_general %a7, %b7, contracting_dims = [1] x [0] : (tensor<31x222xf32>, tensor<222x111xf32>) -> tensor<31x111xf32>
  %e7 = stablehlo.tanh %d7 : tensor<31x111xf32>
  return %e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7 : tensor<40x96xf32>, tensor<33x130xf32>, tensor<64x128xf32>, tensor<50x300xf32>, tensor<70x90xf32>, tensor<48x64xf32>, tensor<96x96xf32>, tensor<31x111xf32>
}

// -----

func.func @main(%n: tensor<i32>, %a0: tensor<24x150xf32>, %w0: tensor<150x150xf32>, %a1: tensor<27x155xf32>, %w1: tensor<155x155xf32>, %a2: tensor<30x160xf32>, %w2: tensor<160x160xf32>, %a3: tensor<33x165xf32>, %w3: tensor<165x165xf32>, %a4: tensor<36x170xf32>, %w4: tensor<170x170xf32>, %a5: tensor<39x175xf32>, %w5: tensor<175x175xf32>, %a6: tensor<42x180xf32>, %w6: tensor<180x180xf32>, %a7: tensor<45x185xf32>, %w7: tensor<185x185xf32>) -> (tensor<24x150xf32>, tensor<27x155xf32>, tensor<30x160xf32>, tensor<33x165xf32>, tensor<36x170xf32>, tensor<39x175xf32>, tensor<42x180xf32>, tensor<45x185xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %most = stablehlo.minimum %n, %three : tensor<i32>
  %0:9 = stablehlo.while(%i = %zero, %v0 = %a0, %v1 = %a1, %v2 = %a2, %v3 = %a3, %v4 = %a4, %v5 = %a5, %v6 = %a6, %v7 = %a7)
      : tensor<i32>, tensor<24x150xf32>, tensor<27x155xf32>, tensor<30x160xf32>, tensor<33x165xf32>, tensor<36x170xf32>, tensor<39x175xf32>, tensor<42x180xf32>, tensor<45x185xf32>
    cond {
      %p = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %d0 = stablehlo.dot_general %v0, %w0, contracting_dims = [1] x [0] : (tensor<24x150xf32>, tensor<150x150xf32>) -> tensor<24x150xf32>
      %e0 = stablehlo.tanh %d0 : tensor<24x150xf32>
      %d1 = stablehlo.dot_general %v1, %w1, contracting_dims = [1] x [1] : (tensor<27x155xf32>, tensor<155x155xf32>) -> tensor<27x155xf32>
      %e1 = stablehlo.tanh %d1 : tensor<27x155xf32>
      %d2 = stablehlo.dot_general %v2, %w2, contracting_dims = [1] x [0] : (tensor<30x160xf32>, tensor<160x160xf32>) -> tensor<30x160xf32>
      %e2 = stablehlo.tanh %d2 : tensor<30x160xf32>
      %d3 = stablehlo.dot_general %v3, %w3, contracting_dims = [1] x [1] : (tensor<33x165xf32>, tensor<165x165xf32>) -> tensor<33x165xf32>
      %e3 = stablehlo.tanh %d3 : tensor<33x165xf32>
      %d4 = stablehlo.dot_general %v4, %w4, contracting_dims = [1] x [0] : (tensor<36x170xf32>, tensor<170x170xf32>) -> tensor<36x170xf32>
      %e4 = stablehlo.tanh %d4 : tensor<36x170xf32>
      %d5 = stablehlo.dot_general %v5, %w5, contracting_dims = [1] x [1] : (tensor<39x175xf32>, tensor<175x175xf32>) -> tensor<39x175xf32>
      %e5 = stablehlo.tanh %d5 : tensor<39x175xf32>
      %d6 = stablehlo.dot_general %v6, %w6, contracting_dims = [1] x [0] : (tensor<42x180xf32>, tensor<180x180xf32>) -> tensor<42x180xf32>
      %e6 = stablehlo.tanh %d6 : tensor<42x180xf32>
      %d7 = stablehlo.dot_general %v7, %w7, contracting_dims = [1] x [1] : (tensor<45x185xf32>, tensor<185x185xf32>) -> tensor<45x185xf32>
      %e7 = stablehlo.tanh %d7 : tensor<45x185xf32>
      stablehlo.return %j, %e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7 : tensor<i32>, tensor<24x150xf32>, tensor<27x155xf32>, tensor<30x160xf32>, tensor<33x165xf32>, tensor<36x170xf32>, tensor<39x175xf32>, tensor<42x180xf32>, tensor<45x185xf32>
    }
  return %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8 : tensor<24x150xf32>, tensor<27x155xf32>, tensor<30x160xf32>, tensor<33x165xf32>, tensor<36x170xf32>, tensor<39x175xf32>, tensor<42x180xf32>, tensor<45x185xf32>
}
