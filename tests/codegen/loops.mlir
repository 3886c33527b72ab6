// Loops in JAX's form with single elements in registers: every back end runs every module on the
// same random arguments.

// Nested loops: the outer counter is read inside the inner loop, sums of both levels.
func.func @main(%x: tensor<8x16xf32>, %w: tensor<f32>) -> (tensor<f32>, tensor<8xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %rows = stablehlo.constant dense<8> : tensor<i32>
  %columns = stablehlo.constant dense<16> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0:4 = stablehlo.while(%i = %zero, %total = %init, %out = %sums, %steps = %zero)
      : tensor<i32>, tensor<f32>, tensor<8xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %rows : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1:3 = stablehlo.while(%j = %zero, %s = %init, %n = %steps)
          : tensor<i32>, tensor<f32>, tensor<i32>
        cond {
          %p = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %q = stablehlo.compare LT, %j, %columns : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %r = stablehlo.and %p, %q : tensor<i1>
          stablehlo.return %r : tensor<i1>
        } do {
          %e = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1]
              : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
          %f = stablehlo.reshape %e : (tensor<1x1xf32>) -> tensor<f32>
          %g = stablehlo.multiply %f, %w : tensor<f32>
          %s2 = stablehlo.add %s, %g : tensor<f32>
          %j2 = stablehlo.add %j, %one : tensor<i32>
          %n2 = stablehlo.add %n, %i : tensor<i32>
          stablehlo.return %j2, %s2, %n2 : tensor<i32>, tensor<f32>, tensor<i32>
        }
      %t = stablehlo.add %total, %1#1 : tensor<f32>
      %u = stablehlo.reshape %1#1 : (tensor<f32>) -> tensor<1xf32>
      %o = stablehlo.dynamic_update_slice %out, %u, %i
          : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %t, %o, %1#2 : tensor<i32>, tensor<f32>, tensor<8xf32>, tensor<i32>
    }
  return %0#1, %0#2, %0#3 : tensor<f32>, tensor<8xf32>, tensor<i32>
}
// -----
// An array carried along, and an early exit that depends on it.
func.func @main(%x: tensor<32xf32>, %limit: tensor<f32>) -> (tensor<32xf32>, tensor<i64>, tensor<i1>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %most = stablehlo.constant dense<50> : tensor<i64>
  %half = stablehlo.constant dense<0.5> : tensor<32xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0:3 = stablehlo.while(%a = %x, %i = %zero, %done = %false)
      : tensor<32xf32>, tensor<i64>, tensor<i1>
    cond {
      %p = stablehlo.compare LT, %i, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %q = stablehlo.not %done : tensor<i1>
      %r = stablehlo.and %p, %q : tensor<i1>
      stablehlo.return %r : tensor<i1>
    } do {
      %b = stablehlo.multiply %a, %half : tensor<32xf32>
      %s = stablehlo.reduce(%b init: %init) applies stablehlo.maximum across dimensions = [0]
          : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
      %d = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %i2 = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %b, %i2, %d : tensor<32xf32>, tensor<i64>, tensor<i1>
    }
  return %0#0, %0#1, %0#2 : tensor<32xf32>, tensor<i64>, tensor<i1>
}
// -----
// Rows times a small matrix, the result carried; the counter counts down and is unsigned.
func.func @main(%x: tensor<20x6xf32>, %w: tensor<6x6xf32>) -> (tensor<6xf32>, tensor<20xf32>, tensor<ui8>) {
  %start = stablehlo.constant dense<19> : tensor<ui8>
  %zero = stablehlo.constant dense<0> : tensor<ui8>
  %one = stablehlo.constant dense<1> : tensor<ui8>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<6xf32>
  %outs = stablehlo.constant dense<0.0> : tensor<20xf32>
  %all = stablehlo.constant dense<255> : tensor<ui8>
  %0:3 = stablehlo.while(%i = %start, %h = %init, %out = %outs) : tensor<ui8>, tensor<6xf32>, tensor<20xf32>
    cond {
      %p = stablehlo.compare NE, %i, %all : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.convert %i : (tensor<ui8>) -> tensor<i32>
      %r = stablehlo.dynamic_slice %x, %k, %first, sizes = [1, 6]
          : (tensor<20x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      %v = stablehlo.reshape %r : (tensor<1x6xf32>) -> tensor<6xf32>
      %a = stablehlo.add %v, %h : tensor<6xf32>
      %m = stablehlo.dot_general %w, %a, contracting_dims = [1] x [0]
          : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6xf32>
      %t = stablehlo.tanh %m : tensor<6xf32>
      %e = stablehlo.slice %m [2:3] : (tensor<6xf32>) -> tensor<1xf32>
      %o = stablehlo.dynamic_update_slice %out, %e, %k
          : (tensor<20xf32>, tensor<1xf32>, tensor<i32>) -> tensor<20xf32>
      %i2 = stablehlo.subtract %i, %one : tensor<ui8>
      stablehlo.return %i2, %t, %o : tensor<ui8>, tensor<6xf32>, tensor<20xf32>
    }
  return %0#1, %0#2, %0#0 : tensor<6xf32>, tensor<20xf32>, tensor<ui8>
}
// -----
// Elements gathered by a carried 8-bit index that wraps around, and written back elsewhere.
func.func @main(%x: tensor<64xi32>, %start: tensor<i8>) -> (tensor<64xi32>, tensor<i8>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<100> : tensor<i32>
  %step = stablehlo.constant dense<77> : tensor<i8>
  %none = stablehlo.constant dense<0> : tensor<i8>
  %size = stablehlo.constant dense<64> : tensor<i8>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %k = %start, %best = %zero)
      : tensor<i32>, tensor<64xi32>, tensor<i8>, tensor<i32>
    cond {
      %p = stablehlo.compare GT, %limit, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k2 = stablehlo.add %k, %step : tensor<i8>
      %n = stablehlo.compare LT, %k2, %none : (tensor<i8>, tensor<i8>) -> tensor<i1>
      %l = stablehlo.add %k2, %size : tensor<i8>
      %at = stablehlo.select %n, %l, %k2 : tensor<i1>, tensor<i8>
      %e = stablehlo.dynamic_slice %a, %at, sizes = [1] : (tensor<64xi32>, tensor<i8>) -> tensor<1xi32>
      %f = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>
      %m = stablehlo.maximum %f, %best : tensor<i32>
      %c = stablehlo.clamp %zero, %m, %limit : tensor<i32>
      %d = stablehlo.subtract %c, %i : tensor<i32>
      %u = stablehlo.reshape %d : (tensor<i32>) -> tensor<1xi32>
      %a2 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<64xi32>, tensor<1xi32>, tensor<i32>) -> tensor<64xi32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %a2, %k2, %m : tensor<i32>, tensor<64xi32>, tensor<i8>, tensor<i32>
    }
  return %0#1, %0#2, %0#3 : tensor<64xi32>, tensor<i8>, tensor<i32>
}
// -----
// Branches inside a loop that change some carried values and leave others; two swapped values.
func.func @main(%x: tensor<40xf32>, %bias: tensor<f16>) -> (tensor<f32>, tensor<f16>, tensor<i32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<40> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0:5 = stablehlo.while(%i = %zero, %a = %init, %b = %two, %h = %bias, %n = %zero)
      : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f16>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<40xf32>, tensor<i32>) -> tensor<1xf32>
      %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
      %g = stablehlo.compare GT, %f, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1:3 = "stablehlo.if"(%g) ({
        %s = stablehlo.add %a, %f : tensor<f32>
        %m = stablehlo.add %n, %one : tensor<i32>
        "stablehlo.return"(%s, %h, %m) : (tensor<f32>, tensor<f16>, tensor<i32>) -> ()
      }, {
        %c = stablehlo.convert %f : (tensor<f32>) -> tensor<f16>
        %d = stablehlo.add %h, %c : tensor<f16>
        "stablehlo.return"(%b, %d, %n) : (tensor<f32>, tensor<f16>, tensor<i32>) -> ()
      }) : (tensor<i1>) -> (tensor<f32>, tensor<f16>, tensor<i32>)
      %v = stablehlo.and %i, %one : tensor<i32>
      %2 = "stablehlo.case"(%v) ({
        %t = stablehlo.multiply %1#0, %two : tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }, {
        "stablehlo.return"(%a) : (tensor<f32>) -> ()
      }) : (tensor<i32>) -> tensor<f32>
      %q = stablehlo.divide %2, %two : tensor<f32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %b, %q, %1#1, %1#2 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f16>, tensor<i32>
    }
  return %0#1, %0#3, %0#4, %0#2 : tensor<f32>, tensor<f16>, tensor<i32>, tensor<f32>
}
// -----
// Booleans and large unsigned numbers as loop values.
func.func @main(%x: tensor<16xui64>, %p: tensor<i1>) -> (tensor<ui64>, tensor<i1>, tensor<ui64>) {
  %zero = stablehlo.constant dense<0> : tensor<ui64>
  %one = stablehlo.constant dense<1> : tensor<ui64>
  %limit = stablehlo.constant dense<16> : tensor<ui64>
  %high = stablehlo.constant dense<9223372036854775808> : tensor<ui64>
  %0:4 = stablehlo.while(%i = %zero, %t = %p, %s = %high, %m = %zero) : tensor<ui64>, tensor<i1>, tensor<ui64>, tensor<ui64>
    cond {
      %q = stablehlo.compare LT, %i, %limit : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %j = stablehlo.or %i, %high : tensor<ui64>
      %k = stablehlo.select %t, %i, %j : tensor<i1>, tensor<ui64>
      %e = stablehlo.dynamic_slice %x, %k, sizes = [1] : (tensor<16xui64>, tensor<ui64>) -> tensor<1xui64>
      %f = stablehlo.reshape %e : (tensor<1xui64>) -> tensor<ui64>
      %g = stablehlo.multiply %f, %s : tensor<ui64>
      %h = stablehlo.subtract %g, %one : tensor<ui64>
      %n = stablehlo.maximum %h, %m : tensor<ui64>
      %c = stablehlo.compare GT, %h, %f : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
      %u = stablehlo.xor %c, %t : tensor<i1>
      %i2 = stablehlo.add %i, %one : tensor<ui64>
      stablehlo.return %i2, %u, %h, %n : tensor<ui64>, tensor<i1>, tensor<ui64>, tensor<ui64>
    }
  return %0#2, %0#1, %0#3 : tensor<ui64>, tensor<i1>, tensor<ui64>
}
// -----
// Products with invariant weights: one is computed in each iteration of the outer loop, one is an
// argument.
func.func @main(%x: tensor<32x256xf32>, %w: tensor<256x512xf32>, %v: tensor<512x256xf32>, %turns: tensor<i32>)
    -> (tensor<32x256xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %outer = stablehlo.clamp %one, %turns, %two : tensor<i32>
  %inner = stablehlo.clamp %two, %turns, %three : tensor<i32>
  %small = stablehlo.constant dense<0.004> : tensor<256x512xf32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %m = %w, %n = %zero)
      : tensor<i32>, tensor<32x256xf32>, tensor<256x512xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %outer : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %scaled = stablehlo.multiply %m, %small : tensor<256x512xf32>
      %1:3 = stablehlo.while(%j = %zero, %b = %a, %k = %n)
          : tensor<i32>, tensor<32x256xf32>, tensor<i32>
        cond {
          %p = stablehlo.compare LT, %j, %inner : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %c = stablehlo.dot_general %b, %scaled, contracting_dims = [1] x [0]
              : (tensor<32x256xf32>, tensor<256x512xf32>) -> tensor<32x512xf32>
          %d = stablehlo.dot_general %c, %v, contracting_dims = [1] x [0]
              : (tensor<32x512xf32>, tensor<512x256xf32>) -> tensor<32x256xf32>
          %e = stablehlo.tanh %d : tensor<32x256xf32>
          %j2 = stablehlo.add %j, %one : tensor<i32>
          %k2 = stablehlo.add %k, %i : tensor<i32>
          stablehlo.return %j2, %e, %k2 : tensor<i32>, tensor<32x256xf32>, tensor<i32>
        }
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %1#1, %scaled, %1#2
          : tensor<i32>, tensor<32x256xf32>, tensor<256x512xf32>, tensor<i32>
    }
  return %0#1, %0#3 : tensor<32x256xf32>, tensor<i32>
}
// -----
// Small arrays as loop values: multiplied, transposed, sliced at positions known at run time,
// reduced.
func.func @main(%x: tensor<4x4xf32>, %y: tensor<7xf32>, %w: tensor<30x2x3xf32>, %turns: tensor<i32>)
    -> (tensor<4x4xf32>, tensor<7xf32>, tensor<f32>, tensor<30xf32>, tensor<3x2xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %least = stablehlo.constant dense<20> : tensor<i32>
  %most = stablehlo.constant dense<30> : tensor<i32>
  %limit = stablehlo.clamp %least, %turns, %most : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %outs = stablehlo.constant dense<0.0> : tensor<30xf32>
  %eighth = stablehlo.constant dense<0.125> : tensor<4x4xf32>
  %scale = stablehlo.constant dense<0.5> : tensor<7xf32>
  %flat = stablehlo.constant dense<1.0> : tensor<3x2xf32>
  %0:6 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %s = %init, %out = %outs, %c = %flat)
      : tensor<i32>, tensor<4x4xf32>, tensor<7xf32>, tensor<f32>, tensor<30xf32>, tensor<3x2xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.and %i, %three : tensor<i32>
      %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %m = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0]
          : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %n = stablehlo.multiply %m, %eighth : tensor<4x4xf32>
      %h = stablehlo.tanh %n : tensor<4x4xf32>
      %row = stablehlo.dynamic_slice %h, %k, %zero, sizes = [1, 4]
          : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %line = stablehlo.reshape %row : (tensor<1x4xf32>) -> tensor<4xf32>
      %grid = stablehlo.broadcast_in_dim %line, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
      %a2 = stablehlo.subtract %h, %grid : tensor<4x4xf32>
      %back = stablehlo.reverse %b, dims = [0] : tensor<7xf32>
      %half = stablehlo.multiply %back, %scale : tensor<7xf32>
      %e = stablehlo.dynamic_slice %b, %i, sizes = [1] : (tensor<7xf32>, tensor<i32>) -> tensor<1xf32>
      %b2 = stablehlo.dynamic_update_slice %half, %e, %k
          : (tensor<7xf32>, tensor<1xf32>, tensor<i32>) -> tensor<7xf32>
      %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
      %sum = stablehlo.reduce(%a2 init: %f) applies stablehlo.add across dimensions = [0, 1]
          : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
      %s2 = stablehlo.maximum %s, %sum : tensor<f32>
      %u = stablehlo.reshape %sum : (tensor<f32>) -> tensor<1xf32>
      %out2 = stablehlo.dynamic_update_slice %out, %u, %i
          : (tensor<30xf32>, tensor<1xf32>, tensor<i32>) -> tensor<30xf32>
      %q = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 2, 3]
          : (tensor<30x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
      %v = stablehlo.reshape %q : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
      %vt = stablehlo.transpose %v, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %d = stablehlo.add %vt, %c : tensor<3x2xf32>
      %g = stablehlo.compare GT, %f, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c2 = "stablehlo.if"(%g) ({
        %z = stablehlo.cosine %d : tensor<3x2xf32>
        "stablehlo.return"(%z) : (tensor<3x2xf32>) -> ()
      }, {
        "stablehlo.return"(%c) : (tensor<3x2xf32>) -> ()
      }) : (tensor<i1>) -> tensor<3x2xf32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %a2, %b2, %s2, %out2, %c2
          : tensor<i32>, tensor<4x4xf32>, tensor<7xf32>, tensor<f32>, tensor<30xf32>, tensor<3x2xf32>
    }
  return %0#1, %0#2, %0#3, %0#4, %0#5
      : tensor<4x4xf32>, tensor<7xf32>, tensor<f32>, tensor<30xf32>, tensor<3x2xf32>
}
// -----
// Small products and rearrangements of several types, without a loop.
func.func @main(%x: tensor<2x3xf64>, %y: tensor<3x2xf64>, %a: tensor<3x5xi8>, %h: tensor<2x2x2xbf16>,
                %p: tensor<2x4xi1>, %k: tensor<3x4xi32>)
    -> (tensor<2x2xf64>, tensor<5x3xi8>, tensor<2x2x2xbf16>, tensor<4x2xi1>, tensor<12xi32>, tensor<2x2xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x5xi8>) -> tensor<5x3xi8>
  %1 = stablehlo.multiply %t, %t : tensor<5x3xi8>
  %u = stablehlo.transpose %h, dims = [2, 0, 1] : (tensor<2x2x2xbf16>) -> tensor<2x2x2xbf16>
  %2 = stablehlo.exponential %u : tensor<2x2x2xbf16>
  %q = stablehlo.transpose %p, dims = [1, 0] : (tensor<2x4xi1>) -> tensor<4x2xi1>
  %3 = stablehlo.not %q : tensor<4x2xi1>
  %v = stablehlo.reverse %k, dims = [0] : tensor<3x4xi32>
  %r = stablehlo.transpose %v, dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  %s = stablehlo.reshape %r : (tensor<4x3xi32>) -> tensor<12xi32>
  %4 = stablehlo.negate %s : tensor<12xi32>
  %w = stablehlo.slice %k [0:3:2, 1:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  %5 = stablehlo.add %w, %w : tensor<2x2xi32>
  return %0, %1, %2, %3, %4, %5
      : tensor<2x2xf64>, tensor<5x3xi8>, tensor<2x2x2xbf16>, tensor<4x2xi1>, tensor<12xi32>, tensor<2x2xi32>
}
// -----
// Elements and rows set and added one at a time, some of them out of range.
func.func @main(%x: tensor<20xf32>, %y: tensor<6x5xi32>, %at: tensor<40xi32>) -> (tensor<20xf32>, tensor<6x5xi32>, tensor<6x5xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<40> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %row = stablehlo.constant dense<[3, -1, 4, 1, 5]> : tensor<5xi32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %y)
      : tensor<i32>, tensor<20xf32>, tensor<6x5xi32>, tensor<6x5xi32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.dynamic_slice %at, %i, sizes = [1] : (tensor<40xi32>, tensor<i32>) -> tensor<1xi32>
      %j = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %e = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %f = stablehlo.multiply %e, %half : tensor<f32>
      %a2 = "stablehlo.scatter"(%a, %k, %f) ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        stablehlo.return %v : tensor<f32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0]>} : (tensor<20xf32>, tensor<1xi32>, tensor<f32>) -> tensor<20xf32>
      %b2 = "stablehlo.scatter"(%b, %k, %row) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %s = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0]>} : (tensor<6x5xi32>, tensor<1xi32>, tensor<5xi32>) -> tensor<6x5xi32>
      %q = stablehlo.concatenate %k, %j, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %c2 = "stablehlo.scatter"(%c, %q, %i) ({
      ^bb0(%u: tensor<i32>, %v: tensor<i32>):
        %m = stablehlo.maximum %u, %v : tensor<i32>
        stablehlo.return %m : tensor<i32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
          scatter_dims_to_operand_dims = [1, 0]>} : (tensor<6x5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<6x5xi32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %a2, %b2, %c2 : tensor<i32>, tensor<20xf32>, tensor<6x5xi32>, tensor<6x5xi32>
    }
  return %0#1, %0#2, %0#3 : tensor<20xf32>, tensor<6x5xi32>, tensor<6x5xi32>
}
// -----
// Rows of three components, each computed from all of them, with every step's rows kept: the slopes
// are columns and are used in both orders.
func.func @main(%x: tensor<77x3xf32>) -> (tensor<77x3xf32>, tensor<5x77x3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<5> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<5x77x3xf32>
  %h = stablehlo.constant dense<0.01> : tensor<3x77xf32>
  %r:3 = stablehlo.while(%i = %zero, %v = %x, %all = %none) : tensor<i32>, tensor<77x3xf32>, tensor<5x77x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %k1 = func.call @slopes(%v) : (tensor<77x3xf32>) -> tensor<3x77xf32>
    %d1 = stablehlo.multiply %h, %k1 : tensor<3x77xf32>
    %t1 = stablehlo.transpose %d1, dims = [1, 0] : (tensor<3x77xf32>) -> tensor<77x3xf32>
    %w = stablehlo.add %v, %t1 : tensor<77x3xf32>
    %k2 = func.call @slopes(%w) : (tensor<77x3xf32>) -> tensor<3x77xf32>
    %s = stablehlo.add %k1, %k2 : tensor<3x77xf32>
    %d2 = stablehlo.multiply %h, %s : tensor<3x77xf32>
    %t2 = stablehlo.transpose %d2, dims = [1, 0] : (tensor<3x77xf32>) -> tensor<77x3xf32>
    %u = stablehlo.add %v, %t2 : tensor<77x3xf32>
    %b = stablehlo.reshape %u : (tensor<77x3xf32>) -> tensor<1x77x3xf32>
    %next = stablehlo.dynamic_update_slice %all, %b, %i, %zero, %zero : (tensor<5x77x3xf32>, tensor<1x77x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x77x3xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %u, %next : tensor<i32>, tensor<77x3xf32>, tensor<5x77x3xf32>
  }
  return %r#1, %r#2 : tensor<77x3xf32>, tensor<5x77x3xf32>
}
func.func private @slopes(%v: tensor<77x3xf32>) -> tensor<3x77xf32> {
  %0 = stablehlo.slice %v [0:77, 0:1] : (tensor<77x3xf32>) -> tensor<77x1xf32>
  %1 = stablehlo.slice %v [0:77, 1:2] : (tensor<77x3xf32>) -> tensor<77x1xf32>
  %2 = stablehlo.slice %v [0:77, 2:3] : (tensor<77x3xf32>) -> tensor<77x1xf32>
  %x = stablehlo.reshape %0 : (tensor<77x1xf32>) -> tensor<1x77xf32>
  %y = stablehlo.reshape %1 : (tensor<77x1xf32>) -> tensor<1x77xf32>
  %z = stablehlo.reshape %2 : (tensor<77x1xf32>) -> tensor<1x77xf32>
  %a = stablehlo.subtract %y, %x : tensor<1x77xf32>
  %b = stablehlo.subtract %x, %z : tensor<1x77xf32>
  %c = stablehlo.add %y, %z : tensor<1x77xf32>
  %k = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<1x77xf32>, tensor<1x77xf32>, tensor<1x77xf32>) -> tensor<3x77xf32>
  return %k : tensor<3x77xf32>
}

// -----
// Invariant values are computed before the loop: a product with its transposed operand, a softmax,
// a factorisation; unchanged carried values, an inner loop.
func.func @main(%a: tensor<12x12xf32>, %x: tensor<12xf32>) -> (tensor<12xf32>, tensor<12x12xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<9> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %w = %a, %j0 = %zero)
      : tensor<i32>, tensor<12xf32>, tensor<12x12xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.transpose %w, dims = [1, 0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
      %2 = stablehlo.dot_general %w, %1, contracting_dims = [1] x [0]
          : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
      %eye = stablehlo.iota dim = 0 : tensor<12x12xi32>
      %eye2 = stablehlo.iota dim = 1 : tensor<12x12xi32>
      %same = stablehlo.compare EQ, %eye, %eye2 : (tensor<12x12xi32>, tensor<12x12xi32>) -> tensor<12x12xi1>
      %large = stablehlo.constant dense<50.0> : tensor<12x12xf32>
      %none = stablehlo.constant dense<0.0> : tensor<12x12xf32>
      %diagonal = stablehlo.select %same, %large, %none
          : (tensor<12x12xi1>, tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
      %spd = stablehlo.add %2, %diagonal : tensor<12x12xf32>
      %l = stablehlo.cholesky %spd, lower = true : tensor<12x12xf32>
      %init = stablehlo.constant dense<0.0> : tensor<f32>
      %e = stablehlo.exponential %w : tensor<12x12xf32>
      %s = stablehlo.reduce(%e init: %init) applies stablehlo.add across dimensions = [1]
          : (tensor<12x12xf32>, tensor<f32>) -> tensor<12xf32>
      %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<12xf32>) -> tensor<12x12xf32>
      %soft = stablehlo.divide %e, %sb : tensor<12x12xf32>
      %3:2 = stablehlo.while(%j = %j0, %u = %v) : tensor<i32>, tensor<12xf32>
        cond {
          %p = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %y = stablehlo.dot_general %soft, %u, contracting_dims = [1] x [0]
              : (tensor<12x12xf32>, tensor<12xf32>) -> tensor<12xf32>
          %z = stablehlo.tanh %v : tensor<12xf32>
          %t = stablehlo.add %y, %z : tensor<12xf32>
          %next = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %next, %t : tensor<i32>, tensor<12xf32>
        }
      %column = stablehlo.reshape %3#1 : (tensor<12xf32>) -> tensor<12x1xf32>
      %solved = "stablehlo.triangular_solve"(%l, %column) {left_side = true, lower = true, unit_diagonal = false,
          transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x1xf32>
      %4 = stablehlo.reshape %solved : (tensor<12x1xf32>) -> tensor<12xf32>
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %5, %4, %w, %j0 : tensor<i32>, tensor<12xf32>, tensor<12x12xf32>, tensor<i32>
    }
  return %0#1, %0#2 : tensor<12xf32>, tensor<12x12xf32>
}

// -----
// Rows computed from the row before, from two neighbours, and from a sum of all: updated in place.
func.func @main(%x: tensor<12x20xf32>, %w: tensor<12x20xf32>) -> (tensor<12x20xf32>, tensor<12x20xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<11> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<1x20xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0:3 = stablehlo.while(%i = %one, %a = %x, %b = %w) : tensor<i32>, tensor<12x20xf32>, tensor<12x20xf32>
    cond {
      %p = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h = stablehlo.subtract %i, %one : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %1 = stablehlo.dynamic_slice %a, %h, %zero, sizes = [1, 20]
          : (tensor<12x20xf32>, tensor<i32>, tensor<i32>) -> tensor<1x20xf32>
      %2 = stablehlo.dynamic_slice %a, %j, %zero, sizes = [1, 20]
          : (tensor<12x20xf32>, tensor<i32>, tensor<i32>) -> tensor<1x20xf32>
      %3 = stablehlo.add %1, %2 : tensor<1x20xf32>
      %4 = stablehlo.multiply %3, %half : tensor<1x20xf32>
      %5 = stablehlo.dynamic_update_slice %a, %4, %i, %zero
          : (tensor<12x20xf32>, tensor<1x20xf32>, tensor<i32>, tensor<i32>) -> tensor<12x20xf32>
      %6 = stablehlo.multiply %b, %w : tensor<12x20xf32>
      %7 = stablehlo.reduce(%6 init: %init) applies stablehlo.add across dimensions = [0]
          : (tensor<12x20xf32>, tensor<f32>) -> tensor<20xf32>
      %8 = stablehlo.tanh %7 : tensor<20xf32>
      %9 = stablehlo.reshape %8 : (tensor<20xf32>) -> tensor<1x20xf32>
      %10 = stablehlo.dynamic_slice %b, %i, %zero, sizes = [1, 20]
          : (tensor<12x20xf32>, tensor<i32>, tensor<i32>) -> tensor<1x20xf32>
      %11 = stablehlo.add %9, %10 : tensor<1x20xf32>
      %12 = stablehlo.dynamic_update_slice %b, %11, %i, %zero
          : (tensor<12x20xf32>, tensor<1x20xf32>, tensor<i32>, tensor<i32>) -> tensor<12x20xf32>
      stablehlo.return %j, %5, %12 : tensor<i32>, tensor<12x20xf32>, tensor<12x20xf32>
    }
  return %0#1, %0#2 : tensor<12x20xf32>, tensor<12x20xf32>
}
// -----
// Floats that are only moved are passed on as values, to loops that compute with them too.
func.func @main(%a: tensor<40xbf16>, %i: tensor<i32>, %h: tensor<9xf16>) -> (tensor<bf16>, tensor<46xbf16>, tensor<f16>, tensor<f32>) {
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<40xbf16>, tensor<i32>) -> tensor<1xbf16>
  %1 = stablehlo.reshape %0 : (tensor<1xbf16>) -> tensor<bf16>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %hs = stablehlo.slice %h [3:4] : (tensor<9xf16>) -> tensor<1xf16>
  %hr = stablehlo.reshape %hs : (tensor<1xf16>) -> tensor<f16>
  %w:3 = stablehlo.while(%k = %z, %x = %1, %y = %hr) : tensor<i32>, tensor<bf16>, tensor<f16>
    cond {
      %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %k1 = stablehlo.add %k, %o : tensor<i32>
      %c = stablehlo.compare LT, %k, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %d = stablehlo.dynamic_slice %a, %k1, sizes = [1] : (tensor<40xbf16>, tensor<i32>) -> tensor<1xbf16>
      %e = stablehlo.reshape %d : (tensor<1xbf16>) -> tensor<bf16>
      %x1 = stablehlo.select %c, %x, %e : tensor<i1>, tensor<bf16>
      %d2 = stablehlo.dynamic_slice %h, %k1, sizes = [1] : (tensor<9xf16>, tensor<i32>) -> tensor<1xf16>
      %e2 = stablehlo.reshape %d2 : (tensor<1xf16>) -> tensor<f16>
      %y1 = stablehlo.select %c, %y, %e2 : tensor<i1>, tensor<f16>
      stablehlo.return %k1, %x1, %y1 : tensor<i32>, tensor<bf16>, tensor<f16>
    }
  %p = stablehlo.pad %a, %w#1, low = [2], high = [4], interior = [0] : (tensor<40xbf16>, tensor<bf16>) -> tensor<46xbf16>
  %f = stablehlo.convert %w#2 : (tensor<f16>) -> tensor<f32>
  return %w#1, %p, %w#2, %f : tensor<bf16>, tensor<46xbf16>, tensor<f16>, tensor<f32>
}
