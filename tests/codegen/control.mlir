// Control flow of compiled programs: every back end runs every module on the same random arguments.

// A counter, an accumulator, a buffer updated in place, invariant values.
func.func @main(%x: tensor<64xf32>, %w: tensor<1xf32>) -> (tensor<64xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<40> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %s = %init, %v = %w)
      : tensor<i32>, tensor<64xf32>, tensor<f32>, tensor<1xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %u = stablehlo.dynamic_update_slice %a, %v, %i2
          : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>
      %e = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<64xf32>, tensor<i32>) -> tensor<1xf32>
      %r = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
      %s2 = stablehlo.add %s, %r : tensor<f32>
      stablehlo.return %i2, %u, %s2, %v : tensor<i32>, tensor<64xf32>, tensor<f32>, tensor<1xf32>
    }
  return %0#1, %0#2 : tensor<64xf32>, tensor<f32>
}
// -----
// Loop values that are swapped; one that is returned twice.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<5> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %z)
      : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %n = stablehlo.negate %a : tensor<4xf32>
      stablehlo.return %i2, %b, %c, %n : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
  %1:4 = stablehlo.while(%i = %zero, %a = %0#1, %b = %0#2, %c = %0#3)
      : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %t = stablehlo.add %a, %b : tensor<4xf32>
      stablehlo.return %i2, %b, %t, %t : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
  return %1#1, %1#2, %1#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// -----
// A loop without iterations, over values that the caller reads afterwards.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0:2 = stablehlo.while(%a = %x, %p = %false) : tensor<4xf32>, tensor<i1>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.negate %a : tensor<4xf32>
      stablehlo.return %n, %p : tensor<4xf32>, tensor<i1>
    }
  %1 = stablehlo.add %0#0, %x : tensor<4xf32>
  return %0#0, %1 : tensor<4xf32>, tensor<4xf32>
}
// -----
// Loops in loops: the inner one updates what the outer one carries; values are captured two levels up.
func.func @main(%x: tensor<6x7xf32>, %k: tensor<1x1xf32>) -> (tensor<6x7xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %rows = stablehlo.constant dense<6> : tensor<i32>
  %columns = stablehlo.constant dense<7> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %a = %x, %n = %zero)
      : tensor<i32>, tensor<6x7xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %rows : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1:3 = stablehlo.while(%j = %zero, %b = %a, %m = %n)
          : tensor<i32>, tensor<6x7xf32>, tensor<i32>
        cond {
          %q = stablehlo.compare LT, %j, %columns : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %q : tensor<i1>
        } do {
          %e = stablehlo.dynamic_slice %b, %i, %j, sizes = [1, 1]
              : (tensor<6x7xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
          %f = stablehlo.multiply %e, %k : tensor<1x1xf32>
          %u = stablehlo.dynamic_update_slice %b, %f, %i, %j
              : (tensor<6x7xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<6x7xf32>
          %j2 = stablehlo.add %j, %one : tensor<i32>
          %m2 = stablehlo.add %m, %i : tensor<i32>
          stablehlo.return %j2, %u, %m2 : tensor<i32>, tensor<6x7xf32>, tensor<i32>
        }
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %1#1, %1#2 : tensor<i32>, tensor<6x7xf32>, tensor<i32>
    }
  return %0#1, %0#2 : tensor<6x7xf32>, tensor<i32>
}
// -----
// Branches: computed, captured, swapped; in a loop.
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<7> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %bit = stablehlo.and %i, %one : tensor<i32>
      %p = stablehlo.compare EQ, %bit, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %1:2 = "stablehlo.if"(%p) ({
        stablehlo.return %b, %a : tensor<8xf32>, tensor<8xf32>
      }, {
        %n = stablehlo.negate %a : tensor<8xf32>
        %m = stablehlo.maximum %b, %n : tensor<8xf32>
        stablehlo.return %n, %m : tensor<8xf32>, tensor<8xf32>
      }) : (tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>)
      stablehlo.return %i2, %1#0, %1#1 : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    }
  return %0#1, %0#2 : tensor<8xf32>, tensor<8xf32>
}
// -----
// Every branch of a case, and indices out of range.
func.func @main(%x: tensor<4xf32>) -> tensor<6x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<6> : tensor<i32>
  %base = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %base) : tensor<i32>, tensor<6x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.subtract %i, %one : tensor<i32>
      %1 = "stablehlo.case"(%k) ({
        stablehlo.return %x : tensor<4xf32>
      }, {
        %2 = stablehlo.add %x, %x : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }, {
        %2 = stablehlo.negate %x : tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      %r = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<1x4xf32>
      %u = stablehlo.dynamic_update_slice %a, %r, %i, %zero
          : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i2, %u : tensor<i32>, tensor<6x4xf32>
    }
  return %0#1 : tensor<6x4xf32>
}
// -----
// Calls of calls, one of them a composite; a recursion of loops through a shared function.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "test.step" %0 {decomposition = @step}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @step(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @step(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %1 = stablehlo.subtract %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// -----
// Arguments, constants and empty tensors returned as they are.
func.func @main(%x: tensor<3xf32>, %y: tensor<0x4xf32>, %p: tensor<2xi1>)
    -> (tensor<3xf32>, tensor<0x4xf32>, tensor<2xi1>, tensor<100xf32>, tensor<5000xi32>,
        tensor<0x4xf32>, tensor<3xf32>) {
  %c = stablehlo.constant dense<1.5> : tensor<100xf32>
  %d = stablehlo.constant dense<7> : tensor<5000xi32>
  %0 = stablehlo.add %y, %y : tensor<0x4xf32>
  return %x, %y, %p, %c, %d, %0, %x
      : tensor<3xf32>, tensor<0x4xf32>, tensor<2xi1>, tensor<100xf32>, tensor<5000xi32>,
        tensor<0x4xf32>, tensor<3xf32>
}
// -----
// Slots that start from one constant, one of them kept.
func.func @main(%n: tensor<i1>) -> (tensor<2000xf32>, tensor<2000xf32>, tensor<2000xf32>) {
  %c = stablehlo.constant dense<2.5> : tensor<2000xf32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0:4 = stablehlo.while(%a = %c, %b = %c, %k = %c, %p = %true)
      : tensor<2000xf32>, tensor<2000xf32>, tensor<2000xf32>, tensor<i1>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %q = stablehlo.not %p : tensor<i1>
      %s = stablehlo.add %a, %b : tensor<2000xf32>
      %t = stablehlo.multiply %s, %k : tensor<2000xf32>
      stablehlo.return %s, %t, %k, %q : tensor<2000xf32>, tensor<2000xf32>, tensor<2000xf32>, tensor<i1>
    }
  return %0#0, %0#1, %0#2 : tensor<2000xf32>, tensor<2000xf32>, tensor<2000xf32>
}

// -----

// A branch returns a single element of memory that its other result is written to.
func.func @main(%x: tensor<4xf32>, %v5: tensor<f32>, %v9: tensor<2xf32>, %v14: tensor<2xf32>, %v16: tensor<i1>) -> (tensor<f32>, tensor<2xf32>) {
  %s = "stablehlo.sort"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1> }) {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %m = stablehlo.slice %s [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %one = "stablehlo.sort"(%m) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1> }) {dimension = 0 : i64} : (tensor<1xf32>) -> tensor<1xf32>
  %v4 = stablehlo.reshape %one : (tensor<1xf32>) -> tensor<f32>
  %w:2 = "stablehlo.if"(%v16) ({
      stablehlo.return %v9, %v4 : tensor<2xf32>, tensor<f32>
  }, {
      stablehlo.return %v14, %v5 : tensor<2xf32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<f32>)
  %k = "stablehlo.sort"(%w#0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1> }) {dimension = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %q = stablehlo.add %w#1, %w#1 : tensor<f32>
  return %q, %k : tensor<f32>, tensor<2xf32>
}
