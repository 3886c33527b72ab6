// Reductions by bodies that loops do not support: the order of elements is kept, the grouping is
// free.
// Compositions of linear functions, along each dimension and all of them.
func.func @main(%a: tensor<5x9x13xi32>, %b: tensor<5x9x13xi32>) -> (tensor<5x13xi32>, tensor<9xi32>, tensor<5x9xi32>, tensor<i32>, tensor<i32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %one), (%b init: %zero) across dimensions = [1] : (tensor<5x9x13xi32>, tensor<5x9x13xi32>, tensor<i32>, tensor<i32>) -> (tensor<5x13xi32>, tensor<5x13xi32>)
    reducer(%m: tensor<i32>, %n: tensor<i32>) (%s: tensor<i32>, %t: tensor<i32>) {
      %1 = stablehlo.multiply %m, %n : tensor<i32>
      %2 = stablehlo.multiply %s, %n : tensor<i32>
      %3 = stablehlo.add %2, %t : tensor<i32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<i32>
    }
  %4:2 = stablehlo.reduce(%a init: %one), (%b init: %zero) across dimensions = [0, 2] : (tensor<5x9x13xi32>, tensor<5x9x13xi32>, tensor<i32>, tensor<i32>) -> (tensor<9xi32>, tensor<9xi32>)
    reducer(%m: tensor<i32>, %n: tensor<i32>) (%s: tensor<i32>, %t: tensor<i32>) {
      %1 = stablehlo.multiply %m, %n : tensor<i32>
      %2 = stablehlo.multiply %s, %n : tensor<i32>
      %3 = stablehlo.add %2, %t : tensor<i32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<i32>
    }
  %5:2 = stablehlo.reduce(%a init: %one), (%b init: %zero) across dimensions = [2] : (tensor<5x9x13xi32>, tensor<5x9x13xi32>, tensor<i32>, tensor<i32>) -> (tensor<5x9xi32>, tensor<5x9xi32>)
    reducer(%m: tensor<i32>, %n: tensor<i32>) (%s: tensor<i32>, %t: tensor<i32>) {
      %1 = stablehlo.multiply %m, %n : tensor<i32>
      %2 = stablehlo.multiply %s, %n : tensor<i32>
      %3 = stablehlo.add %2, %t : tensor<i32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<i32>
    }
  %6 = stablehlo.reduce(%a init: %zero) across dimensions = [0, 1, 2] : (tensor<5x9x13xi32>, tensor<i32>) -> tensor<i32>
    reducer(%x: tensor<i32>, %y: tensor<i32>) {
      %7 = stablehlo.compare GT, %y, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %8 = stablehlo.select %7, %y, %x : tensor<i1>, tensor<i32>
      stablehlo.return %8 : tensor<i32>
    }
  %w = stablehlo.reshape %b : (tensor<5x9x13xi32>) -> tensor<585xi32>
  %9 = stablehlo.reduce(%w init: %zero) across dimensions = [0] : (tensor<585xi32>, tensor<i32>) -> tensor<i32>
    reducer(%x: tensor<i32>, %y: tensor<i32>) {
      %10 = stablehlo.constant dense<0> : tensor<i32>
      %11 = stablehlo.compare LT, %x, %10 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.select %11, %x, %y : tensor<i1>, tensor<i32>
      stablehlo.return %12 : tensor<i32>
    }
  return %0#1, %4#1, %5#1, %6, %9 : tensor<5x13xi32>, tensor<9xi32>, tensor<5x9xi32>, tensor<i32>, tensor<i32>
}
// -----
// Products and maxima of complex numbers.
func.func @main(%x: tensor<37x6xcomplex<f32>>, %i: tensor<complex<f32>>, %y: tensor<6x70xcomplex<f64>>, %j: tensor<complex<f64>>) -> (tensor<6xcomplex<f32>>, tensor<complex<f32>>, tensor<6xcomplex<f64>>) {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.multiply across dimensions = [0] : (tensor<37x6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  %1 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<37x6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %2 = stablehlo.reduce(%y init: %j) applies stablehlo.minimum across dimensions = [1] : (tensor<6x70xcomplex<f64>>, tensor<complex<f64>>) -> tensor<6xcomplex<f64>>
  return %0, %1, %2 : tensor<6xcomplex<f32>>, tensor<complex<f32>>, tensor<6xcomplex<f64>>
}
// -----
// Reductions of transposed arrays, and the index of the largest element.
func.func @main(%y: tensor<7x37x20xf32>, %n: tensor<f32>, %i: tensor<i32>) -> (tensor<20x7xf32>, tensor<37x7xf32>, tensor<37x20xi32>) {
  %0 = stablehlo.transpose %y, dims = [2, 0, 1] : (tensor<7x37x20xf32>) -> tensor<20x7x37xf32>
  %1 = stablehlo.reduce(%0 init: %n) applies stablehlo.maximum across dimensions = [2] : (tensor<20x7x37xf32>, tensor<f32>) -> tensor<20x7xf32>
  %2 = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<7x37x20xf32>) -> tensor<37x7x20xf32>
  %3 = stablehlo.reduce(%2 init: %n) applies stablehlo.add across dimensions = [2] : (tensor<37x7x20xf32>, tensor<f32>) -> tensor<37x7xf32>
  %4 = stablehlo.transpose %y, dims = [1, 2, 0] : (tensor<7x37x20xf32>) -> tensor<37x20x7xf32>
  %5 = stablehlo.iota dim = 2 : tensor<37x20x7xi32>
  %6:2 = stablehlo.reduce(%4 init: %n), (%5 init: %i) across dimensions = [2] : (tensor<37x20x7xf32>, tensor<37x20x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<37x20xf32>, tensor<37x20xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f32>, tensor<i32>
    }
  return %1, %3, %6#1 : tensor<20x7xf32>, tensor<37x7xf32>, tensor<37x20xi32>
}
// -----
// The index of the largest element, with equal elements and NaN: in short rows, down narrow columns.
func.func @main(%x: tensor<70x17xi8>) -> tensor<70xi32> {
  %s = stablehlo.constant dense<4> : tensor<70x17xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<70x17xi8>
  %v = stablehlo.convert %q : (tensor<70x17xi8>) -> tensor<70x17xf32>
  %w = stablehlo.sqrt %v : tensor<70x17xf32>
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<70x17xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<70x17xf32>, tensor<70x17xi32>, tensor<f32>, tensor<i32>) -> (tensor<70xf32>, tensor<70xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<70xi32>
}
// -----
func.func @main(%x: tensor<40x40xi8>) -> (tensor<40xf32>, tensor<40xi32>) {
  %s = stablehlo.constant dense<4> : tensor<40x40xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<40x40xi8>
  %v = stablehlo.convert %q : (tensor<40x40xi8>) -> tensor<40x40xf32>
  %w = stablehlo.sqrt %v : tensor<40x40xf32>
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<40x40xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<40x40xf32>, tensor<40x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<40xf32>, tensor<40xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f32>, tensor<i32>
    }
  return %0#0, %0#1 : tensor<40xf32>, tensor<40xi32>
}
// -----
func.func @main(%x: tensor<90x5xi8>) -> tensor<90xi32> {
  %s = stablehlo.constant dense<4> : tensor<90x5xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<90x5xi8>
  %v = stablehlo.convert %q : (tensor<90x5xi8>) -> tensor<90x5xf32>
  %w = stablehlo.sqrt %v : tensor<90x5xf32>
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<90x5xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<90x5xf32>, tensor<90x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<90xf32>, tensor<90xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<90xi32>
}
// -----
func.func @main(%x: tensor<33x8xi8>) -> tensor<33xi32> {
  %s = stablehlo.constant dense<4> : tensor<33x8xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<33x8xi8>
  %v = stablehlo.convert %q : (tensor<33x8xi8>) -> tensor<33x8xbf16>
  %w = stablehlo.sqrt %v : tensor<33x8xbf16>
  %n = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<33x8xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<33x8xbf16>, tensor<33x8xi32>, tensor<bf16>, tensor<i32>) -> (tensor<33xbf16>, tensor<33xi32>)
    reducer(%a: tensor<bf16>, %c: tensor<bf16>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<bf16>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<bf16>, tensor<i32>
    }
  return %0#1 : tensor<33xi32>
}
// -----
func.func @main(%x: tensor<37x20xi8>) -> tensor<37xi32> {
  %s = stablehlo.constant dense<4> : tensor<37x20xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<37x20xi8>
  %v = stablehlo.convert %q : (tensor<37x20xi8>) -> tensor<37x20xbf16>
  %w = stablehlo.sqrt %v : tensor<37x20xbf16>
  %n = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<37x20xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<37x20xbf16>, tensor<37x20xi32>, tensor<bf16>, tensor<i32>) -> (tensor<37xbf16>, tensor<37xi32>)
    reducer(%a: tensor<bf16>, %c: tensor<bf16>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<bf16>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<bf16>, tensor<i32>
    }
  return %0#1 : tensor<37xi32>
}
// -----
func.func @main(%x: tensor<3x37x8xi8>) -> tensor<3x8xi32> {
  %s = stablehlo.constant dense<4> : tensor<3x37x8xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<3x37x8xi8>
  %v = stablehlo.convert %q : (tensor<3x37x8xi8>) -> tensor<3x37x8xf32>
  %w = stablehlo.sqrt %v : tensor<3x37x8xf32>
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<3x37x8xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [1] : (tensor<3x37x8xf32>, tensor<3x37x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x8xf32>, tensor<3x8xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<3x8xi32>
}
// -----
func.func @main(%x: tensor<41x19xi8>) -> tensor<19xi32> {
  %s = stablehlo.constant dense<4> : tensor<41x19xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<41x19xi8>
  %v = stablehlo.convert %q : (tensor<41x19xi8>) -> tensor<41x19xf64>
  %w = stablehlo.sqrt %v : tensor<41x19xf64>
  %n = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<41x19xi32>
  %0:2 = stablehlo.reduce(%w init: %n), (%i init: %z) across dimensions = [0] : (tensor<41x19xf64>, tensor<41x19xi32>, tensor<f64>, tensor<i32>) -> (tensor<19xf64>, tensor<19xi32>)
    reducer(%a: tensor<f64>, %c: tensor<f64>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<f64>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<f64>, tensor<i32>
    }
  return %0#1 : tensor<19xi32>
}
// -----
func.func @main(%x: tensor<50x4xi8>) -> tensor<4xi32> {
  %s = stablehlo.constant dense<4> : tensor<50x4xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<50x4xi8>
  %v = stablehlo.convert %q : (tensor<50x4xi8>) -> tensor<50x4xi32>
  %n = stablehlo.constant dense<-2147483648> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<50x4xi32>
  %0:2 = stablehlo.reduce(%v init: %n), (%i init: %z) across dimensions = [0] : (tensor<50x4xi32>, tensor<50x4xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
    reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<i32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<i32>, tensor<i32>
    }
  return %0#1 : tensor<4xi32>
}
// -----
func.func @main(%x: tensor<20x40xi8>) -> tensor<20xi32> {
  %s = stablehlo.constant dense<4> : tensor<20x40xi8>
  %q = stablehlo.shift_right_arithmetic %x, %s : tensor<20x40xi8>
  %v = stablehlo.convert %q : (tensor<20x40xi8>) -> tensor<20x40xi32>
  %n = stablehlo.constant dense<-2147483648> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<20x40xi32>
  %0:2 = stablehlo.reduce(%v init: %n), (%i init: %z) across dimensions = [1] : (tensor<20x40xi32>, tensor<20x40xi32>, tensor<i32>, tensor<i32>) -> (tensor<20xi32>, tensor<20xi32>)
    reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %7 = stablehlo.compare GT, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %8 = stablehlo.compare NE, %a, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %9 = stablehlo.or %7, %8 : tensor<i1>
      %10 = stablehlo.compare EQ, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %11 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.and %10, %11 : tensor<i1>
      %13 = stablehlo.or %9, %12 : tensor<i1>
      %14 = stablehlo.select %9, %a, %c : tensor<i1>, tensor<i32>
      %15 = stablehlo.select %13, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<i32>, tensor<i32>
    }
  return %0#1 : tensor<20xi32>
}
// -----
// Reductions down a few columns: one or several vectors, shorter than a register, or the last one masked.
func.func @main(%x: tensor<5x70x4xf32>, %i: tensor<f32>) -> tensor<5x4xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<5x70x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
// -----
func.func @main(%x: tensor<5x71x5xf32>, %i: tensor<f32>) -> tensor<5x5xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<5x71x5xf32>, tensor<f32>) -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32>
}
// -----
func.func @main(%x: tensor<3x101x16xf64>, %i: tensor<f64>) -> tensor<3x16xf64> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.minimum across dimensions = [1] : (tensor<3x101x16xf64>, tensor<f64>) -> tensor<3x16xf64>
  return %0 : tensor<3x16xf64>
}
// -----
func.func @main(%x: tensor<90x17xf32>, %i: tensor<f32>) -> tensor<17xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<90x17xf32>, tensor<f32>) -> tensor<17xf32>
  return %0 : tensor<17xf32>
}
// -----
func.func @main(%x: tensor<66x40xf32>, %i: tensor<f32>) -> tensor<40xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<66x40xf32>, tensor<f32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}
// -----
func.func @main(%x: tensor<37x100xf32>, %i: tensor<f32>) -> tensor<100xf32> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<37x100xf32>, tensor<f32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
// -----
func.func @main(%x: tensor<3x45x7xbf16>, %i: tensor<bf16>) -> tensor<3x7xbf16> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<3x45x7xbf16>, tensor<bf16>) -> tensor<3x7xbf16>
  return %0 : tensor<3x7xbf16>
}
// -----
func.func @main(%x: tensor<70x2xf64>, %i: tensor<f64>) -> tensor<2xf64> {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<70x2xf64>, tensor<f64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}
// -----
// Rows whose exponentials are kept on the stack between the sum and the quotient.
func.func @main(%x: tensor<24x9001xf32>, %low: tensor<f32>, %zero: tensor<f32>) -> tensor<24x9001xf32> {
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<24x9001xf32>, tensor<f32>) -> tensor<24xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<24xf32>) -> tensor<24x9001xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<24x9001xf32>
  %3 = stablehlo.exponential %2 : tensor<24x9001xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<24x9001xf32>, tensor<f32>) -> tensor<24xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<24xf32>) -> tensor<24x9001xf32>
  %6 = stablehlo.divide %3, %5 : tensor<24x9001xf32>
  return %6 : tensor<24x9001xf32>
}
