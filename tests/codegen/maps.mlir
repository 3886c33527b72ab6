// Counting loops with independent iterations, which become ops on whole arrays: every back end runs every
// module on the same random arguments; the interpreter runs the loops.

// A map over elements, whose result also depends on the counter.
func.func @main(%x: tensor<100xf32>) -> (tensor<100xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<100> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<100xf32>
  %0:3 = stablehlo.while(%xs = %x, %i = %zero, %out = %init) : tensor<100xf32>, tensor<i32>, tensor<100xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.dynamic_slice %xs, %i, sizes = [1] : (tensor<100xf32>, tensor<i32>) -> tensor<1xf32>
      %b = stablehlo.reshape %a : (tensor<1xf32>) -> tensor<f32>
      %c = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %d = stablehlo.multiply %b, %c : tensor<f32>
      %e = stablehlo.reshape %d : (tensor<f32>) -> tensor<1xf32>
      %o = stablehlo.dynamic_update_slice %out, %e, %i : (tensor<100xf32>, tensor<1xf32>, tensor<i32>) -> tensor<100xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %xs, %j, %o : tensor<100xf32>, tensor<i32>, tensor<100xf32>
    }
  return %0#2, %0#1 : tensor<100xf32>, tensor<i32>
}

// -----

// From the last row to the first, as scan with reverse; the largest element of each row, a row shifted by
// one, a mask by the counter, and a value that stays the same.
func.func @main(%x: tensor<20x9xf32>, %w: tensor<9xf32>) -> (tensor<20x10xf32>, tensor<20xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<20> : tensor<i32>
  %rows = stablehlo.constant dense<0.0> : tensor<20x10xf32>
  %tops = stablehlo.constant dense<0.0> : tensor<20xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0:4 = stablehlo.while(%keep = %w, %i = %zero, %out = %rows, %top = %tops)
      : tensor<9xf32>, tensor<i32>, tensor<20x10xf32>, tensor<20xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %last = stablehlo.subtract %n, %i : tensor<i32>
      %r = stablehlo.subtract %last, %one : tensor<i32>
      %a = stablehlo.dynamic_slice %x, %r, %zero, sizes = [1, 9]
          : (tensor<20x9xf32>, tensor<i32>, tensor<i32>) -> tensor<1x9xf32>
      %b = stablehlo.reshape %a : (tensor<1x9xf32>) -> tensor<9xf32>
      %c = stablehlo.multiply %b, %keep : tensor<9xf32>
      %five = stablehlo.constant dense<5> : tensor<i32>
      %early = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %d = stablehlo.select %early, %c, %b : tensor<i1>, tensor<9xf32>
      %m = stablehlo.reduce(%d init: %lowest) applies stablehlo.maximum across dimensions = [0]
          : (tensor<9xf32>, tensor<f32>) -> tensor<f32>
      %e = stablehlo.pad %d, %lowest, low = [-1], high = [2], interior = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<10xf32>
      %f = stablehlo.reverse %e, dims = [0] : tensor<10xf32>
      %g = stablehlo.reshape %f : (tensor<10xf32>) -> tensor<1x10xf32>
      %o = stablehlo.dynamic_update_slice %out, %g, %r, %zero
          : (tensor<20x10xf32>, tensor<1x10xf32>, tensor<i32>, tensor<i32>) -> tensor<20x10xf32>
      %h = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<1xf32>
      %t = stablehlo.dynamic_update_slice %top, %h, %r : (tensor<20xf32>, tensor<1xf32>, tensor<i32>) -> tensor<20xf32>
      %j = stablehlo.add %one, %i : tensor<i32>
      stablehlo.return %keep, %j, %o, %t : tensor<9xf32>, tensor<i32>, tensor<20x10xf32>, tensor<20xf32>
    }
  return %0#2, %0#3 : tensor<20x10xf32>, tensor<20xf32>
}

// -----

// Element after element by scatter, as x.at[i].set() in fori_loop with a second counter.
func.func @main(%x: tensor<50xf32>) -> tensor<50xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<50xf32>
  %0:3 = stablehlo.while(%k = %zero, %i = %zero, %out = %init) : tensor<i32>, tensor<i32>, tensor<50xf32>
    cond {
      %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %neg = stablehlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %wrapped = stablehlo.add %i, %n : tensor<i32>
      %at = stablehlo.select %neg, %wrapped, %i : tensor<i1>, tensor<i32>
      %a = stablehlo.dynamic_slice %x, %at, sizes = [1] : (tensor<50xf32>, tensor<i32>) -> tensor<1xf32>
      %b = stablehlo.reshape %a : (tensor<1xf32>) -> tensor<f32>
      %c = stablehlo.abs %b : tensor<f32>
      %s = stablehlo.reshape %at : (tensor<i32>) -> tensor<1xi32>
      %o = "stablehlo.scatter"(%out, %s, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, indices_are_sorted = true, unique_indices = true}> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
        stablehlo.return %new : tensor<f32>
      }) : (tensor<50xf32>, tensor<1xi32>, tensor<f32>) -> tensor<50xf32>
      %l = stablehlo.add %k, %one : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %l, %j, %o : tensor<i32>, tensor<i32>, tensor<50xf32>
    }
  return %0#2 : tensor<50xf32>
}

// -----

// Blocks of three columns, changed in place, from column 2 on: the others keep their values.
func.func @main(%x: tensor<4x37x2xf32>) -> tensor<4x37x2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %n = stablehlo.constant dense<11> : tensor<i64>
  %0:3 = stablehlo.while(%i = %zero, %limit = %n, %out = %x) : tensor<i64>, tensor<i64>, tensor<4x37x2xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.multiply %i, %three : tensor<i64>
      %at = stablehlo.add %a, %two : tensor<i64>
      %b = stablehlo.dynamic_slice %out, %one, %at, %zero, sizes = [2, 3, 2]
          : (tensor<4x37x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3x2xf32>
      %c = stablehlo.transpose %b, dims = [2, 1, 0] : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
      %d = stablehlo.add %b, %c : tensor<2x3x2xf32>
      %o = stablehlo.dynamic_update_slice %out, %d, %one, %at, %zero
          : (tensor<4x37x2xf32>, tensor<2x3x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x37x2xf32>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %limit, %o : tensor<i64>, tensor<i64>, tensor<4x37x2xf32>
    }
  return %0#2 : tensor<4x37x2xf32>
}

// -----

// Slices and rows at positions that the program computes, some outside of the array, and slices that overlap.
func.func @main(%x: tensor<30x6xf32>, %at: tensor<12xi32>) -> (tensor<12x2x3xf32>, tensor<12x6xf32>, tensor<12x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.constant dense<12> : tensor<i32>
  %parts = stablehlo.constant dense<0.0> : tensor<12x2x3xf32>
  %rows = stablehlo.constant dense<0.0> : tensor<12x6xf32>
  %columns = stablehlo.constant dense<0.0> : tensor<12x4xf32>
  %0:4 = stablehlo.while(%i = %zero, %p0 = %parts, %r0 = %rows, %c0 = %columns)
      : tensor<i32>, tensor<12x2x3xf32>, tensor<12x6xf32>, tensor<12x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.dynamic_slice %at, %i, sizes = [1] : (tensor<12xi32>, tensor<i32>) -> tensor<1xi32>
      %s = stablehlo.reshape %k : (tensor<1xi32>) -> tensor<i32>
      %a = stablehlo.dynamic_slice %x, %s, %i, sizes = [2, 3] : (tensor<30x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
      %b = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %p1 = stablehlo.dynamic_update_slice %p0, %b, %i, %zero, %zero
          : (tensor<12x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<12x2x3xf32>
      %g = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 6>}> : (tensor<30x6xf32>, tensor<1xi32>) -> tensor<6xf32>
      %h = stablehlo.reshape %g : (tensor<6xf32>) -> tensor<1x6xf32>
      %r1 = stablehlo.dynamic_update_slice %r0, %h, %i, %zero
          : (tensor<12x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<12x6xf32>
      %c = stablehlo.dynamic_slice %x, %i, %one, sizes = [4, 1] : (tensor<30x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x1xf32>
      %d = stablehlo.reshape %c : (tensor<4x1xf32>) -> tensor<1x4xf32>
      %c1 = stablehlo.dynamic_update_slice %c0, %d, %i, %zero
          : (tensor<12x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<12x4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %p1, %r1, %c1 : tensor<i32>, tensor<12x2x3xf32>, tensor<12x6xf32>, tensor<12x4xf32>
    }
  return %0#1, %0#2, %0#3 : tensor<12x2x3xf32>, tensor<12x6xf32>, tensor<12x4xf32>
}

// -----

// A map in a map; slices, joins and local updates of values that vary; sums of integers.
func.func @main(%x: tensor<10x12xi32>) -> (tensor<10x12xi32>, tensor<10xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<10> : tensor<i32>
  %m = stablehlo.constant dense<12> : tensor<i32>
  %init = stablehlo.constant dense<0> : tensor<10x12xi32>
  %totals = stablehlo.constant dense<0> : tensor<10xi32>
  %row = stablehlo.constant dense<0> : tensor<12xi32>
  %0:3 = stablehlo.while(%i = %zero, %out = %init, %sums = %totals) : tensor<i32>, tensor<10x12xi32>, tensor<10xi32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 12] : (tensor<10x12xi32>, tensor<i32>, tensor<i32>) -> tensor<1x12xi32>
      %b = stablehlo.reshape %a : (tensor<1x12xi32>) -> tensor<12xi32>
      %1:2 = stablehlo.while(%k = %zero, %r = %row) : tensor<i32>, tensor<12xi32>
        cond {
          %p = stablehlo.compare LT, %k, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %c = stablehlo.dynamic_slice %b, %k, sizes = [1] : (tensor<12xi32>, tensor<i32>) -> tensor<1xi32>
          %d = stablehlo.multiply %c, %c : tensor<1xi32>
          %s = stablehlo.dynamic_update_slice %r, %d, %k : (tensor<12xi32>, tensor<1xi32>, tensor<i32>) -> tensor<12xi32>
          %l = stablehlo.add %k, %one : tensor<i32>
          stablehlo.return %l, %s : tensor<i32>, tensor<12xi32>
        }
      %e = stablehlo.slice %1#1 [1:12:2] : (tensor<12xi32>) -> tensor<6xi32>
      %f = stablehlo.concatenate %e, %e, dim = 0 : (tensor<6xi32>, tensor<6xi32>) -> tensor<12xi32>
      %g = stablehlo.dynamic_update_slice %f, %e, %one : (tensor<12xi32>, tensor<6xi32>, tensor<i32>) -> tensor<12xi32>
      %h = stablehlo.dynamic_slice %g, %one, sizes = [3] : (tensor<12xi32>, tensor<i32>) -> tensor<3xi32>
      %t = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
      %u = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<12xi32>) -> tensor<1x12xi32>
      %o = stablehlo.dynamic_update_slice %out, %u, %i, %zero
          : (tensor<10x12xi32>, tensor<1x12xi32>, tensor<i32>, tensor<i32>) -> tensor<10x12xi32>
      %v = stablehlo.reshape %t : (tensor<i32>) -> tensor<1xi32>
      %w = stablehlo.dynamic_update_slice %sums, %v, %i : (tensor<10xi32>, tensor<1xi32>, tensor<i32>) -> tensor<10xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %o, %w : tensor<i32>, tensor<10x12xi32>, tensor<10xi32>
    }
  return %0#1, %0#2 : tensor<10x12xi32>, tensor<10xi32>
}

// -----

// Kept: each iteration reads the element that the one before has written.
func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<39> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %out = %x) : tensor<i32>, tensor<40xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.dynamic_slice %out, %i, sizes = [1] : (tensor<40xf32>, tensor<i32>) -> tensor<1xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.negate %a : tensor<1xf32>
      %o = stablehlo.dynamic_update_slice %out, %b, %j : (tensor<40xf32>, tensor<1xf32>, tensor<i32>) -> tensor<40xf32>
      stablehlo.return %j, %o : tensor<i32>, tensor<40xf32>
    }
  return %0#1 : tensor<40xf32>
}

// -----

// Kept: the last iterations are moved inside of the array and replace the same slice.
func.func @main(%x: tensor<20x4xf32>) -> tensor<40xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %n = stablehlo.constant dense<20> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<40xf32>
  %0:2 = stablehlo.while(%i = %zero, %out = %init) : tensor<i32>, tensor<40xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 4] : (tensor<20x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %b = stablehlo.reshape %a : (tensor<1x4xf32>) -> tensor<4xf32>
      %at = stablehlo.multiply %i, %four : tensor<i32>
      %o = stablehlo.dynamic_update_slice %out, %b, %at : (tensor<40xf32>, tensor<4xf32>, tensor<i32>) -> tensor<40xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %o : tensor<i32>, tensor<40xf32>
    }
  return %0#1 : tensor<40xf32>
}
