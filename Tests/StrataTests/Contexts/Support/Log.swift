import struct StrataCore.Mutex

/// A list that observers and blocks write to, from whatever thread they run on.
final class Log<Element>: @unchecked Sendable {
  // Safe: the list is only touched under the lock; what it holds is the test's responsibility.
  private let lock = Mutex<Void>(())
  private var elements: [Element] = []

  init() {}

  func add(_ element: Element) { lock.withLock { _ in elements.append(element) } }
  /// What was written so far, in order.
  var list: [Element] { lock.withLock { _ in elements } }
  var first: Element? { list.first }
  func removeAll() { lock.withLock { _ in elements = [] } }
}
