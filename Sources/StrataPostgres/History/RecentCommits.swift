/// What the last saves of a store have learnt of its history.
struct RecentCommits: Sendable {
  /// Whether the store records one.
  var isRecording: Bool
  /// By number.
  private(set) var marks: [UInt64: UInt64] = [:]
  private var order: [UInt64] = []
  private static let most = 256

  init(isRecording: Bool) { self.isRecording = isRecording }

  /// - Parameter isRecording: What the commits have learnt of that; nil when their answer was lost.
  mutating func note(_ numbers: [UInt64], _ marks: [UInt64], _ isRecording: Bool?) {
    if let isRecording { self.isRecording = isRecording }
    if !self.isRecording { return }
    for (number, mark) in zip(numbers, marks) {
      self.marks[number] = mark
      order.append(number)
    }
    let surplus = order.count - Self.most
    if surplus <= 0 { return }
    for number in order.prefix(surplus) { self.marks[number] = nil }
    order.removeFirst(surplus)
  }
}
