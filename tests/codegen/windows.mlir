// Gradients of poolings, also of average pooling, and poolings along the innermost dimension:
// disjoint, adjacent and overlapping windows, several comparisons and types.
func.func @main(%a: tensor<2x8x10x20xf32>, %g: tensor<2x4x5x20xf32>) -> tensor<2x8x10x20xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x8x10x20xf32>, tensor<2x4x5x20xf32>, tensor<f32>) -> tensor<2x8x10x20xf32>
  return %0 : tensor<2x8x10x20xf32>
}
// -----
func.func @main(%a: tensor<2x9x11x20xf32>, %g: tensor<2x4x5x20xf32>) -> tensor<2x9x11x20xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x9x11x20xf32>, tensor<2x4x5x20xf32>, tensor<f32>) -> tensor<2x9x11x20xf32>
  return %0 : tensor<2x9x11x20xf32>
}
// -----
func.func @main(%a: tensor<2x5x9x11xf32>, %g: tensor<2x5x4x4xf32>) -> tensor<2x5x9x11xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 1, 3, 2>, window_strides = array<i64: 1, 1, 2, 3>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x5x9x11xf32>, tensor<2x5x4x4xf32>, tensor<f32>) -> tensor<2x5x9x11xf32>
  return %0 : tensor<2x5x9x11xf32>
}
// -----
func.func @main(%a: tensor<3x17x18xf32>, %g: tensor<3x15x18xf32>) -> tensor<3x17x18xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare LE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x17x18xf32>, tensor<3x15x18xf32>, tensor<f32>) -> tensor<3x17x18xf32>
  return %0 : tensor<3x17x18xf32>
}
// -----
func.func @main(%a: tensor<23xf32>, %g: tensor<11xf32>) -> tensor<23xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %y, %x : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<23xf32>, tensor<11xf32>, tensor<f32>) -> tensor<23xf32>
  return %0 : tensor<23xf32>
}
// -----
func.func @main(%a: tensor<2x6x7x8x3xbf16>, %g: tensor<2x3x3x4x3xbf16>) -> tensor<2x6x7x8x3xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 2, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 2, 1>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<2x6x7x8x3xbf16>, tensor<2x3x3x4x3xbf16>, tensor<bf16>) -> tensor<2x6x7x8x3xbf16>
  return %0 : tensor<2x6x7x8x3xbf16>
}
// -----
func.func @main(%a: tensor<2x9x9x20xi32>, %g: tensor<2x3x8x20xi32>) -> tensor<2x9x9x20xi32> {
  %z = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 3, 2, 1>, window_strides = array<i64: 1, 3, 1, 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.compare GE, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.multiply %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<2x9x9x20xi32>, tensor<2x3x8x20xi32>, tensor<i32>) -> tensor<2x9x9x20xi32>
  return %0 : tensor<2x9x9x20xi32>
}
// -----
func.func @main(%a: tensor<4x9x20xui8>, %g: tensor<4x3x20xui8>) -> tensor<4x9x20xui8> {
  %z = stablehlo.constant dense<0> : tensor<ui8>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 3, 1>}> ({
    ^bb0(%x: tensor<ui8>, %y: tensor<ui8>):
      %1 = stablehlo.compare GE, %x, %y, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<ui8>, %y: tensor<ui8>):
      %1 = stablehlo.add %x, %y : tensor<ui8>
      stablehlo.return %1 : tensor<ui8>
    }) : (tensor<4x9x20xui8>, tensor<4x3x20xui8>, tensor<ui8>) -> tensor<4x9x20xui8>
  return %0 : tensor<4x9x20xui8>
}
// -----
func.func @main(%a: tensor<4x9x20xf64>, %g: tensor<4x3x20xf64>) -> tensor<4x9x20xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 4, 1>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.add %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<4x9x20xf64>, tensor<4x3x20xf64>, tensor<f64>) -> tensor<4x9x20xf64>
  return %0 : tensor<4x9x20xf64>
}
// -----
func.func @main(%a: tensor<2x3x17x40xf32>) -> tensor<2x3x8x20xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 1], [0, 1]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x3x17x40xf32>, tensor<f32>) -> tensor<2x3x8x20xf32>
  return %0 : tensor<2x3x8x20xf32>
}
// -----
func.func @main(%a: tensor<2x3x17x40xf32>) -> tensor<2x3x8x20xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x3x17x40xf32>, tensor<f32>) -> tensor<2x3x8x20xf32>
  return %0 : tensor<2x3x8x20xf32>
}
// -----
func.func @main(%a: tensor<3x50xf32>) -> tensor<3x46xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 5>, window_strides = array<i64: 1, 1>, window_dilations = array<i64: 1, 2>, padding = dense<[[0, 0], [2, 2]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x50xf32>, tensor<f32>) -> tensor<3x46xf32>
  return %0 : tensor<3x46xf32>
}
// -----
func.func @main(%a: tensor<3x9x50xbf16>) -> tensor<3x9x13xbf16> {
  %z = stablehlo.constant dense<50.0> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 1, 4>, window_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [1, 1], [1, 1]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.minimum %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<3x9x50xbf16>, tensor<bf16>) -> tensor<3x9x13xbf16>
  return %0 : tensor<3x9x13xbf16>
}
// -----
func.func @main(%a: tensor<3x9x50xi32>) -> tensor<3x4x45xi32> {
  %z = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 2, 3>, window_strides = array<i64: 1, 2, 1>, window_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [-1, -2]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<3x9x50xi32>, tensor<i32>) -> tensor<3x4x45xi32>
  return %0 : tensor<3x4x45xi32>
}
// -----
func.func @main(%a: tensor<70xf64>) -> tensor<23xf64> {
  %z = stablehlo.constant dense<-1.0e30> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 3>, window_dilations = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.maximum %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<70xf64>, tensor<f64>) -> tensor<23xf64>
  return %0 : tensor<23xf64>
}
// -----
func.func @main(%a: tensor<2x5x6x20xf32>) -> tensor<2x10x12x20xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %z, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x5x6x20xf32>, tensor<f32>) -> tensor<2x11x13x20xf32>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x11x13x20xf32>, tensor<f32>) -> tensor<2x10x12x20xf32>
  return %0 : tensor<2x10x12x20xf32>
}
// -----
func.func @main(%a: tensor<2x5x6x20xf32>) -> tensor<2x12x12x20xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %z, low = [0, 2, 2, 0], high = [0, 3, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x5x6x20xf32>, tensor<f32>) -> tensor<2x14x14x20xf32>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 1, 3, 3, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x14x14x20xf32>, tensor<f32>) -> tensor<2x12x12x20xf32>
  return %0 : tensor<2x12x12x20xf32>
}
// -----
func.func @main(%a: tensor<2x7x20xbf16>) -> tensor<2x23x20xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %p = stablehlo.pad %a, %z, low = [0, 1, 0], high = [0, 4, 0], interior = [0, 2, 0] : (tensor<2x7x20xbf16>, tensor<bf16>) -> tensor<2x24x20xbf16>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 1, 2, 1>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<2x24x20xbf16>, tensor<bf16>) -> tensor<2x23x20xbf16>
  return %0 : tensor<2x23x20xbf16>
}
// -----
func.func @main(%a: tensor<3x9xi32>) -> tensor<3x21xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %a, %z, low = [0, 4], high = [0, 4], interior = [0, 1] : (tensor<3x9xi32>, tensor<i32>) -> tensor<3x25xi32>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 1, 5>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<3x25xi32>, tensor<i32>) -> tensor<3x21xi32>
  return %0 : tensor<3x21xi32>
}
// -----
func.func @main(%a: tensor<2x6x9xf64>) -> tensor<2x21x11xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.pad %a, %z, low = [0, 3, 2], high = [0, 0, 2], interior = [0, 3, 0] : (tensor<2x6x9xf64>, tensor<f64>) -> tensor<2x24x13xf64>
  %0 = "stablehlo.reduce_window"(%p, %z) <{window_dimensions = array<i64: 1, 4, 3>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.add %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<2x24x13xf64>, tensor<f64>) -> tensor<2x21x11xf64>
  return %0 : tensor<2x21x11xf64>
}
// -----
// Windows of library calls: long ones, several dimensions, strides, dilations of both kinds, uneven
// and negative padding; all operations and kinds of elements.
func.func @main(%a: tensor<3x400xf32>) -> tensor<3x400xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 200>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [99, 100]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x400xf32>, tensor<f32>) -> tensor<3x400xf32>
  return %0 : tensor<3x400xf32>
}
// -----
func.func @main(%a: tensor<300x5xbf16>) -> tensor<71x5xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 90, 1>, window_strides = array<i64: 3, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<300x5xbf16>, tensor<bf16>) -> tensor<71x5xbf16>
  return %0 : tensor<71x5xbf16>
}
// -----
func.func @main(%a: tensor<5000xf64>) -> tensor<5003xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 77>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[76, 3]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.add %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<5000xf64>, tensor<f64>) -> tensor<5003xf64>
  return %0 : tensor<5003xf64>
}
// -----
func.func @main(%a: tensor<40000xf32>) -> tensor<5709xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 100>, window_strides = array<i64: 7>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[-3, 60]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<40000xf32>, tensor<f32>) -> tensor<5709xf32>
  return %0 : tensor<5709xf32>
}
// -----
func.func @main(%a: tensor<2x150x33xi32>) -> tensor<2x116x33xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 70, 1>, window_strides = array<i64: 1, 1, 1>, base_dilations = array<i64: 1, 1, 1>, window_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [-5, 40], [0, 0]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<2x150x33xi32>, tensor<i32>) -> tensor<2x116x33xi32>
  return %0 : tensor<2x116x33xi32>
}
// -----
func.func @main(%a: tensor<2x150x33xui8>) -> tensor<2x46x33xui8> {
  %z = stablehlo.constant dense<0> : tensor<ui8>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 66, 1>, window_strides = array<i64: 1, 1, 1>, base_dilations = array<i64: 1, 1, 1>, window_dilations = array<i64: 1, 2, 1>, padding = dense<[[0, 0], [30, -4], [0, 0]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<ui8>, %y: tensor<ui8>):
      %1 = stablehlo.add %x, %y : tensor<ui8>
      stablehlo.return %1 : tensor<ui8>
    }) : (tensor<2x150x33xui8>, tensor<ui8>) -> tensor<2x46x33xui8>
  return %0 : tensor<2x46x33xui8>
}
// -----
func.func @main(%a: tensor<500x3xi1>) -> tensor<500x3xi1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 80, 1>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[40, 39], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<i1>, %y: tensor<i1>):
      %1 = stablehlo.xor %x, %y : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<500x3xi1>, tensor<i1>) -> tensor<500x3xi1>
  return %0 : tensor<500x3xi1>
}
// -----
func.func @main(%a: tensor<70xi16>) -> tensor<79xi16> {
  %z = stablehlo.constant dense<5> : tensor<i16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 65>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<[[3, 70]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<i16>, %y: tensor<i16>):
      %1 = stablehlo.minimum %x, %y : tensor<i16>
      stablehlo.return %1 : tensor<i16>
    }) : (tensor<70xi16>, tensor<i16>) -> tensor<79xi16>
  return %0 : tensor<79xi16>
}
// -----
func.func @main(%a: tensor<90x200xf32>) -> tensor<88x200xf32> {
  %z = stablehlo.constant dense<0.25> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 65, 1>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[64, -2], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.minimum %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<90x200xf32>, tensor<f32>) -> tensor<88x200xf32>
  return %0 : tensor<88x200xf32>
}
// -----
func.func @main(%a: tensor<2x30x29x16xf32>) -> tensor<2x30x29x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 11, 11, 1>, window_strides = array<i64: 1, 1, 1, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [5, 5], [5, 5], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x30x29x16xf32>, tensor<f32>) -> tensor<2x30x29x16xf32>
  return %0 : tensor<2x30x29x16xf32>
}
// -----
func.func @main(%a: tensor<2x30x29x16xf32>) -> tensor<2x7x9x16xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 11, 11, 1>, window_strides = array<i64: 1, 4, 3, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [5, 2], [-1, 7], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x30x29x16xf32>, tensor<f32>) -> tensor<2x7x9x16xf32>
  return %0 : tensor<2x7x9x16xf32>
}
// -----
func.func @main(%a: tensor<2x3x31x40xbf16>) -> tensor<2x3x4x20xbf16> {
  %z = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1, 9, 9>, window_strides = array<i64: 1, 1, 8, 2>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 3], [4, 4]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.maximum %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<2x3x31x40xbf16>, tensor<bf16>) -> tensor<2x3x4x20xbf16>
  return %0 : tensor<2x3x4x20xbf16>
}
// -----
func.func @main(%a: tensor<20x21x3xf64>) -> tensor<14x47x3xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 9, 8, 1>, window_strides = array<i64: 2, 1, 1>, base_dilations = array<i64: 2, 3, 1>, window_dilations = array<i64: 2, 1, 1>, padding = dense<[[2, 2], [-4, -3], [0, 0]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.add %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<20x21x3xf64>, tensor<f64>) -> tensor<14x47x3xf64>
  return %0 : tensor<14x47x3xf64>
}
// -----
func.func @main(%a: tensor<12x13x14xi32>) -> tensor<12x5x8xi32> {
  %z = stablehlo.constant dense<-7> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 5, 5, 5>, window_strides = array<i64: 1, 2, 3>, base_dilations = array<i64: 1, 1, 2>, window_dilations = array<i64: 1, 2, 1>, padding = dense<[[2, 2], [1, 4], [-2, 3]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.maximum %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<12x13x14xi32>, tensor<i32>) -> tensor<12x5x8xi32>
  return %0 : tensor<12x5x8xi32>
}
// -----
func.func @main(%a: tensor<40x30xi64>) -> tensor<40x30xi64> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 9, 9>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[4, 4], [4, 4]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %1 = stablehlo.xor %x, %y : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) : (tensor<40x30xi64>, tensor<i64>) -> tensor<40x30xi64>
  return %0 : tensor<40x30xi64>
}
// -----
func.func @main(%a: tensor<40x150xf32>) -> tensor<14x24xf32> {
  %z = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 33>, window_strides = array<i64: 3, 5>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.multiply %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<40x150xf32>, tensor<f32>) -> tensor<14x24xf32>
  return %0 : tensor<14x24xf32>
}
// -----
// Gradients of poolings by library calls: overlapping windows, padding, ties and NaN.
func.func @main(%a: tensor<2x20x22x40xf32>, %g: tensor<2x7x7x40xf32>) -> tensor<2x20x22x40xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 1, 7, 7, 1>, window_strides = array<i64: 1, 3, 3, 1>, padding = dense<[[0, 0], [3, 3], [2, 1], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x20x22x40xf32>, tensor<2x7x7x40xf32>, tensor<f32>) -> tensor<2x20x22x40xf32>
  return %0 : tensor<2x20x22x40xf32>
}
// -----
func.func @main(%a: tensor<2x20x22x3xf32>, %g: tensor<2x7x7x3xf32>) -> tensor<2x20x22x3xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %v = stablehlo.floor %a : tensor<2x20x22x3xf32>
  %0 = "stablehlo.select_and_scatter"(%v, %g, %z) <{window_dimensions = array<i64: 1, 7, 7, 1>, window_strides = array<i64: 1, 3, 3, 1>, padding = dense<[[0, 0], [3, 3], [2, 1], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x20x22x3xf32>, tensor<2x7x7x3xf32>, tensor<f32>) -> tensor<2x20x22x3xf32>
  return %0 : tensor<2x20x22x3xf32>
}
// -----
func.func @main(%a: tensor<2x20x22x3xf32>, %g: tensor<2x10x7x3xf32>) -> tensor<2x20x22x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.floor %a : tensor<2x20x22x3xf32>
  %q = stablehlo.divide %t, %t : tensor<2x20x22x3xf32>
  %v = stablehlo.multiply %t, %q : tensor<2x20x22x3xf32>
  %0 = "stablehlo.select_and_scatter"(%v, %g, %z) <{window_dimensions = array<i64: 1, 7, 7, 1>, window_strides = array<i64: 1, 2, 3, 1>, padding = dense<[[0, 0], [3, 3], [2, 1], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x20x22x3xf32>, tensor<2x10x7x3xf32>, tensor<f32>) -> tensor<2x20x22x3xf32>
  return %0 : tensor<2x20x22x3xf32>
}
// -----
func.func @main(%a: tensor<3x15x20x22xbf16>, %g: tensor<3x15x6x5xbf16>) -> tensor<3x15x20x22xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %v = stablehlo.floor %a : tensor<3x15x20x22xbf16>
  %0 = "stablehlo.select_and_scatter"(%v, %g, %z) <{window_dimensions = array<i64: 1, 1, 7, 7>, window_strides = array<i64: 1, 1, 3, 4>, padding = dense<[[0, 0], [0, 0], [-2, 5], [3, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.compare LE, %x, %y, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %1 = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %1 : tensor<bf16>
    }) : (tensor<3x15x20x22xbf16>, tensor<3x15x6x5xbf16>, tensor<bf16>) -> tensor<3x15x20x22xbf16>
  return %0 : tensor<3x15x20x22xbf16>
}
// -----
func.func @main(%a: tensor<400xf64>, %g: tensor<41xf64>) -> tensor<400xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{window_dimensions = array<i64: 50>, window_strides = array<i64: 9>, padding = dense<[[20, -3]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %1 = stablehlo.minimum %x, %y : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<400xf64>, tensor<41xf64>, tensor<f64>) -> tensor<400xf64>
  return %0 : tensor<400xf64>
}
// -----
func.func @main(%a: tensor<6x20x20xf32>, %g: tensor<3x3x5xf32>) -> tensor<6x20x20xf32> {
  %z = stablehlo.constant dense<2.0> : tensor<f32>
  %t = stablehlo.floor %a : tensor<6x20x20xf32>
  %q = stablehlo.divide %t, %t : tensor<6x20x20xf32>
  %v = stablehlo.multiply %t, %q : tensor<6x20x20xf32>
  %0 = "stablehlo.select_and_scatter"(%v, %g, %z) <{window_dimensions = array<i64: 3, 7, 7>, window_strides = array<i64: 2, 5, 6>, padding = dense<[[1, 1], [0, 1], [9, 2]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.multiply %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<6x20x20xf32>, tensor<3x3x5xf32>, tensor<f32>) -> tensor<6x20x20xf32>
  return %0 : tensor<6x20x20xf32>
}
// -----
// Windows with bodies that neither loops nor the library know, for all types.
func.func @main(%a: tensor<23xf32>) -> tensor<23xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %m = stablehlo.multiply %y, %c : tensor<f32>
    %s = stablehlo.add %x, %m : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<23xf32>, tensor<f32>) -> tensor<23xf32>
  return %0 : tensor<23xf32>
}
// -----
func.func @main(%a: tensor<5x23xf64>) -> tensor<5x11xf64> {
  %z = stablehlo.constant dense<0.5> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %c = stablehlo.constant dense<2.0> : tensor<f64>
    %m = stablehlo.multiply %y, %c : tensor<f64>
    %s = stablehlo.add %x, %m : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<5x23xf64>, tensor<f64>) -> tensor<5x11xf64>
  return %0 : tensor<5x11xf64>
}
// -----
func.func @main(%a: tensor<5x23xf16>) -> tensor<5x11xf16> {
  %z = stablehlo.constant dense<0.5> : tensor<f16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %c = stablehlo.constant dense<2.0> : tensor<f16>
    %m = stablehlo.multiply %y, %c : tensor<f16>
    %s = stablehlo.add %x, %m : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) : (tensor<5x23xf16>, tensor<f16>) -> tensor<5x11xf16>
  return %0 : tensor<5x11xf16>
}
// -----
func.func @main(%a: tensor<5x23xbf16>) -> tensor<5x11xbf16> {
  %z = stablehlo.constant dense<0.5> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
    %c = stablehlo.constant dense<2.0> : tensor<bf16>
    %m = stablehlo.multiply %y, %c : tensor<bf16>
    %s = stablehlo.add %x, %m : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<5x23xbf16>, tensor<bf16>) -> tensor<5x11xbf16>
  return %0 : tensor<5x11xbf16>
}
// -----
func.func @main(%a: tensor<5x23xi32>) -> tensor<5x11xi32> {
  %z = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.multiply %y, %c : tensor<i32>
    %s = stablehlo.add %x, %m : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5x23xi32>, tensor<i32>) -> tensor<5x11xi32>
  return %0 : tensor<5x11xi32>
}
// -----
func.func @main(%a: tensor<5x23xui8>) -> tensor<5x11xui8> {
  %z = stablehlo.constant dense<3> : tensor<ui8>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<ui8>, %y: tensor<ui8>):
    %c = stablehlo.constant dense<2> : tensor<ui8>
    %m = stablehlo.multiply %y, %c : tensor<ui8>
    %s = stablehlo.add %x, %m : tensor<ui8>
    stablehlo.return %s : tensor<ui8>
  }) : (tensor<5x23xui8>, tensor<ui8>) -> tensor<5x11xui8>
  return %0 : tensor<5x11xui8>
}
// -----
// Strides, dilations, negative padding.
func.func @main(%a: tensor<9x11x4xf32>) -> tensor<4x6x4xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3, 2, 1>, window_strides = array<i64: 2, 3, 1>, window_dilations = array<i64: 2, 3, 1>, base_dilations = array<i64: 1, 2, 1>, padding = dense<[[-1, 3], [2, -4], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %m = stablehlo.multiply %y, %c : tensor<f32>
    %s = stablehlo.subtract %x, %m : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<9x11x4xf32>, tensor<f32>) -> tensor<4x6x4xf32>
  return %0 : tensor<4x6x4xf32>
}
// -----
// A largest value and its position.
func.func @main(%a: tensor<3x16x16xf32>) -> (tensor<3x8x8xf32>, tensor<3x8x8xi32>) {
  %n = stablehlo.iota dim = 2 : tensor<3x16x16xi32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %k = stablehlo.constant dense<7> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%a, %n, %z, %k) <{window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 2, 2>, padding = dense<[[0, 0], [0, 1], [1, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
    %c = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %c, %x, %y : tensor<i1>, tensor<f32>
    %p = stablehlo.select %c, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %p : tensor<f32>, tensor<i32>
  }) : (tensor<3x16x16xf32>, tensor<3x16x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x8x8xf32>, tensor<3x8x8xi32>)
  return %0#0, %0#1 : tensor<3x8x8xf32>, tensor<3x8x8xi32>
}
// -----
// A product of complex numbers, and a body that captures a value.
func.func @main(%a: tensor<5x9xcomplex<f32>>, %b: tensor<5x9xf32>, %w: tensor<f32>) -> (tensor<5x8xcomplex<f32>>, tensor<4x8xf32>) {
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %one) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %m = stablehlo.multiply %x, %y : tensor<complex<f32>>
    stablehlo.return %m : tensor<complex<f32>>
  }) : (tensor<5x9xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5x8xcomplex<f32>>
  %1 = "stablehlo.reduce_window"(%b, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.multiply %x, %w : tensor<f32>
    %s = stablehlo.add %m, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x9xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<5x8xcomplex<f32>>, tensor<4x8xf32>
}
