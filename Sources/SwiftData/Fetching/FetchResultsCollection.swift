import StrataCore

/// What a fetch has found, read in batches as it is looked at. Used where its context is.
public struct FetchResultsCollection<Element>: RandomAccessCollection {
  private let count_: Int
  private let element: (Int) -> Element

  init(count: Int, _ element: @escaping (Int) -> Element) {
    count_ = count
    self.element = element
  }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// How many there are.
  public var endIndex: Int { count_ }
  /// The element at `position`; reads its batch when that is not there. Stops the process beyond the end.
  public subscript(position: Int) -> Element {
    precondition(indices.contains(position), "position \(position) is out of range: \(count_) were fetched")
    return element(position)
  }
}

@available(*, unavailable, message: "the models belong to their context")
extension FetchResultsCollection: Sendable {}
