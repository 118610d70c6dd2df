import Foundation

/// Bytes that sort as texts do in an order that has no bytes of its own: each text of a list has a label between those of its neighbours.
///
/// ```
///   "Book 2" ──▶ 80 00 00 01          a label is a fraction, its bytes the digits behind the point:
///   "Book 9" ──▶ 80 00 00 01 80       between any two there is another one
///   "Book 10" ─▶ 80 00 00 02
/// ```
///
/// A label never changes, so that keys of different times can be compared. Texts that the order calls equal have the same. What has once been labelled
/// stays until the list is fetched anew. On the context's queue.
final class TextLabels {
  private let comparator: TextCollation
  private let isAscending: Bool
  /// In the direction of the list.
  private var labelled: ContiguousArray<(text: String, label: [UInt8])> = []

  init(_ comparator: TextCollation, isAscending: Bool) {
    self.comparator = comparator
    self.isAscending = isAscending
  }

  /// The label of a text. A list is mostly read in its order: the end is looked at first.
  func label(of text: String) -> [UInt8] {
    guard let last = labelled.last else { return add(text, [0x80], at: 0) }
    let order = order(last.text, text)
    if order == 0 { return last.label }
    if order < 0 { return add(text, Self.next(after: last.label), at: labelled.count) }
    let place = labelled.indices.partitioningIndex { self.order(labelled[$0].text, text) >= 0 }
    if self.order(labelled[place].text, text) == 0 { return labelled[place].label }
    let label = Self.middle(place == 0 ? [] : labelled[place - 1].label, labelled[place].label)
    return add(text, label, at: place)
  }

  private func add(_ text: String, _ label: [UInt8], at place: Int) -> [UInt8] {
    labelled.insert((text, label), at: place)
    return label
  }

  private func order(_ left: String, _ right: String) -> Int {
    let order = comparator.compare(left, right).rawValue
    return isAscending ? order : -order
  }

  /// A label behind another one: of four bytes for a list that is read in its order.
  static func next(after label: [UInt8]) -> [UInt8] {
    var digits = label.prefix(4) + Array(repeating: 0, count: max(0, 4 - label.count))
    for place in digits.indices.reversed() {
      let (sum, isOver) = digits[place].addingReportingOverflow(1)
      digits[place] = sum
      if !isOver {
        while digits.last == 0 { digits.removeLast() }
        return Array(digits)
      }
    }
    return middle(label, nil)
  }

  /// A label between two others. No digits are 0, and nil is 1: before and behind all labels.
  static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8] {
    var high = high
    var result: [UInt8] = []
    while true {
      let place = result.count
      let lower = place < low.count ? Int(low[place]) : 0
      let upper = high.map { place < $0.count ? Int($0[place]) : 0 } ?? 256
      let middle = (lower + upper) / 2
      if middle > lower {
        result.append(UInt8(middle))
        return result
      }
      // Neighbours: whatever is above the rest of the lower one is below the upper one.
      if lower < upper { high = nil }
      result.append(UInt8(lower))
    }
  }
}
