import Foundation

/// The bars as a picture in SVG: the same bytes for the same figures, readable in the light and in the dark, its text as text.
struct Chart {
  var title: String
  /// What the reader has to know, below the title.
  var subtitle: String
  var bars: [Bar]

  var svg: String {
    let height =
      Layout.top + Double(bars.count) * Layout.row + Double(groupCount) * Layout.group + Layout.bottom
    let size =
      "viewBox=\"0 0 \(Int(Layout.width)) \(Int(height))\" width=\"\(Int(Layout.width))\" height=\"\(Int(height))\""
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) role=\"img\" aria-labelledby=\"title description\">",
      "  <title id=\"title\">\(Self.escaped(title))</title>",
      "  <desc id=\"description\">\(Self.escaped(description))</desc>", Self.style,
      "  <rect class=\"page\" width=\"\(Int(Layout.width))\" height=\"\(Int(height))\" rx=\"8\"/>",
      text("name", Layout.margin, 32, title), text("small", Layout.margin, 51, subtitle),
    ]
    lines += legend + grid(bottom: height - Layout.bottom)
    var y = Layout.top
    var group: String?
    for bar in bars {
      if bar.group != group {
        lines.append(text("group", Layout.margin, y + 21, bar.group))
        group = bar.group
        y += Layout.group
      }
      lines += drawn(bar, y)
      y += Layout.row
    }
    return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  /// The whole chart for those who do not see it.
  private var description: String {
    let parts = bars.map { bar in
      let required =
        bar.isReached.map { ", required \(bar.requirement), \($0 ? "reached" : "not reached")" } ?? ""
      return "\(bar.group), \(bar.label): \(bar.text) ×\(required)"
    }
    return "\(subtitle). \(parts.joined(separator: "; "))."
  }

  private var groupCount: Int {
    zip(bars, bars.dropFirst()).filter { $0.group != $1.group }.count + (bars.isEmpty ? 0 : 1)
  }

  private enum Layout {
    static let width = 820.0
    static let margin = 30.0
    static let left = 290.0
    static let right = 590.0
    static let top = 92.0
    static let bottom = 46.0
    static let row = 21.0
    static let group = 32.0
  }
}

extension Chart {
  /// - Throws: `ResultError` when a multiple is missing.
  init(_ results: Results) throws {
    title = "Strata against GRDB"
    subtitle =
      "How many times as fast, medians, both by turns in one run; bars to the left of 1 ×: GRDB is faster"
    bars = try Bar.sources.map { try Bar($0, results) }
  }
}

// MARK: - The scale

extension Chart {
  /// Powers of ten with their twos and fives, as far as the figures go, and 1 always.
  private var ticks: [Double] {
    let all = bars.flatMap { bar in
      [bar.value, bar.range?.lowerBound, bar.range?.upperBound, bar.required?.amount.value].compactMap { $0 }
    }.filter { $0 > 0 }
    let (least, most) = (min(all.min() ?? 1, 1), max(all.max() ?? 1, 1))
    let steps = (-4...6).flatMap { power in [1, 2, 5].map { $0 * pow(10, Double(power)) } }
    let first = steps.lastIndex { $0 <= least * 1.000_001 } ?? 0
    let last = steps.firstIndex { $0 >= most * 0.999_999 } ?? steps.count - 1
    return Array(steps[first...max(last, first + 1)])
  }

  /// Where a multiple is; what lies beyond the scale is at its end.
  private func x(_ value: Double) -> Double {
    let (least, most) = (log(ticks[0]), log(ticks[ticks.count - 1]))
    let share = (log(value) - least) / (most - least)
    return Layout.left + min(max(share, 0), 1) * (Layout.right - Layout.left)
  }

  private func grid(bottom: Double) -> [String] {
    ticks.flatMap { tick in
      let (place, shown) = (
        Self.number(x(tick)), tick < 1 ? Self.number(tick, places: 4) : "\(Int(tick.rounded()))"
      )
      return [
        "  <path class=\"\(tick == 1 ? "one" : "grid")\" d=\"M\(place) \(Int(Layout.top)) V\(Self.number(bottom))\"/>",
        text("small middle", x(tick), bottom + 20, "\(shown) ×"),
      ]
    }
  }
}

// MARK: - What is drawn

extension Chart {
  private var legend: [String] {
    let y = 72.0
    func box(_ kind: String, _ x: Double) -> String {
      "  <rect class=\"\(kind)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y - 10))\" width=\"22\" height=\"11\" rx=\"2\"/>"
    }
    return [
      box("reached", 30), text("small", 58, y, "reached, or nothing required"),
      box("missed", 240), text("small", 268, y, "less than required"),
      "  <path class=\"tick\" d=\"M401 \(Self.number(y - 12)) V\(Self.number(y + 3))\"/>",
      text("small", 410, y, "required"),
      "  <path class=\"range\" d=\"M480 \(Self.number(y - 4)) H504\"/>",
      text("small", 512, y, "from the least to the most of several runs"),
    ]
  }

  private func drawn(_ bar: Bar, _ y: Double) -> [String] {
    let (from, to) = (min(x(1), x(bar.value)), max(x(1), x(bar.value)))
    let width = Self.number(max(to - from, 1))
    var lines = [
      text("end", Layout.left - 12, y + 14, bar.label),
      "  <rect class=\"\(bar.isReached == false ? "missed" : "reached")\" x=\"\(Self.number(from))\" y=\"\(Self.number(y + 4))\" width=\"\(width)\" height=\"13\" rx=\"2\"/>",
    ]
    if let range = bar.range {
      let (least, most) = (Self.number(x(range.lowerBound)), Self.number(x(range.upperBound)))
      lines.append("  <path class=\"range\" d=\"M\(least) \(Self.number(y + 10.5)) H\(most)\"/>")
    }
    if let required = bar.required {
      let place = Self.number(x(required.amount.value))
      lines.append("  <path class=\"tick\" d=\"M\(place) \(Self.number(y + 1)) V\(Self.number(y + 20))\"/>")
    }
    lines.append(text("value", Layout.right + 14, y + 15, "\(bar.text) ×"))
    if bar.isReached != nil { lines.append(text("small", Layout.right + 72, y + 15, bar.requirement)) }
    return lines
  }

  private func text(_ kind: String, _ x: Double, _ y: Double, _ text: String) -> String {
    "  <text class=\"\(kind)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\">\(Self.escaped(text))</text>"
  }

  /// With a point, whatever the language of the system, and no zeros at the end.
  private static func number(_ value: Double, places: Int = 1) -> String {
    var text = String(format: "%.\(places)f", value)
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }

  /// As the text of an element.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      // What XML has no place for, not even as a reference.
      case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}":
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static let style = """
      <style>
        .page { fill: #ffffff }
        .grid { stroke: #dde3ec; stroke-width: 1; fill: none }
        .one { stroke: #56657a; stroke-width: 1.4; fill: none }
        .reached { fill: #3563ad; stroke: #3563ad; stroke-width: 1 }
        .missed { fill: #fdf0da; stroke: #9a6a12; stroke-width: 1.2 }
        .tick { stroke: #1b2430; stroke-width: 2.4; fill: none }
        .range { stroke: #8797ad; stroke-width: 2.4; fill: none }
        text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #1b2430 }
        .name { font-size: 16px; font-weight: 600 }
        .group, .value { font-weight: 600 }
        .small { font-size: 11.5px; fill: #4a5666 }
        .end { text-anchor: end }
        .middle { text-anchor: middle }
        @media (prefers-color-scheme: dark) {
          .page { fill: #0f141b }
          .grid { stroke: #263140 }
          .one { stroke: #9fb0c6 }
          .reached { fill: #5b8ade; stroke: #5b8ade }
          .missed { fill: #3a2d12; stroke: #d9a84a }
          .tick { stroke: #e6edf5 }
          .range { stroke: #8c9bb0 }
          text { fill: #e6edf5 }
          .small { fill: #aab7c7 }
        }
      </style>
    """
}
