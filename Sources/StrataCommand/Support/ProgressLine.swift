import Foundation

/// Says how far something has come: in place on a terminal, not at all elsewhere.
final class ProgressLine {
  private let isTerminal: Bool
  private var last = ContinuousClock.now - .seconds(1)
  private let begin = ContinuousClock.now
  private var isShown = false

  init() { isTerminal = Output.errors.isTerminal }

  func show(_ text: String) {
    if !isTerminal { return }
    isShown = true
    try? Output.errors.write("\r\u{1B}[K\(text.prefix(max(Output.errors.width - 1, 10)))")
  }

  /// A bar, about ten times a second. `total` is 0 while it is unknown.
  func show(_ completed: Int, of total: Int, _ noun: String) {
    if !isTerminal { return }
    let now = ContinuousClock.now
    if last.duration(to: now) < .milliseconds(100) { return }
    last = now
    show(Self.bar(completed, of: total, noun, after: begin.duration(to: now)))
  }

  static func bar(_ completed: Int, of total: Int, _ noun: String, after time: Duration) -> String {
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let speed = seconds > 0.5 ? ", \(Words.grouped(Int(Double(completed) / seconds))) a second" : ""
    guard total > 0 else { return "\(Words.grouped(completed)) \(noun)\(speed)" }
    let share = min(Double(completed) / Double(total), 1)
    let full = Int(share * 30)
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 30 - full)
    return
      "\(bar) \(Int(share * 100)) %  \(Words.grouped(completed)) of \(Words.grouped(total)) \(noun)\(speed)"
  }

  func end() {
    if isShown { try? Output.errors.write("\r\u{1B}[K") }
    isShown = false
  }
}
