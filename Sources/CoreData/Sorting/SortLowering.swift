import StrataCore

/// A sort descriptor as a fetch takes it.
struct LoweredSort {
  let sort: FetchSort
  /// Whether the store's order is the one that is asked for.
  let isExact: Bool
}

extension NSSortDescriptor {
  /// - Throws: `CoreDataError` 134060 for a function of one's own, which no store can sort by; `PredicateTranslationError` for a Swift key
  ///   path that reads no stored property.
  func lowered(for context: NSManagedObjectContext?, entityName: String) throws -> LoweredSort {
    guard let keyed = self as? KeyedSortDescriptor else {
      guard let context else {
        throw CoreDataError(.coreData, "what a Swift key path reads is known to a fetch only; name the key")
      }
      let name = try context.name(of: keyPath, fromEntity: entityName)
      if let swift = self as? SwiftSortDescriptor {
        guard let path = swift.path else { throw refused("what a SortDescriptor does not tell") }
        let values = type(of: path).valueType
        return LoweredSort(
          sort: FetchSort(name, ascending: ascending),
          isExact: values != String.self && values != String?.self)
      }
      if !(self is KeyPathSortDescriptor), !NaturalOrder.isOrder(of: self) {
        throw refused("\(name) by a function of your own")
      }
      return LoweredSort(sort: FetchSort(name, ascending: ascending), isExact: true)
    }
    // The object itself sorts by its primary key.
    let name = keyed.name ?? "self"
    switch keyed.rule {
    case .values: return LoweredSort(sort: FetchSort(name, ascending: ascending), isExact: true)
    case .text(let order):
      return LoweredSort(
        sort: FetchSort(name, ascending: ascending, comparator: order.collation), isExact: true)
    case .comparator: throw refused("\(name) by a function of your own")
    }
  }

  private func refused(_ what: String) -> CoreDataError {
    CoreDataError(.coreData, "A fetch cannot sort by \(what); sort what it returns.")
  }
}

/// Foundation does not tell whether a sort descriptor by a key path has a function of its own: it is asked about values whose order is known.
enum NaturalOrder {
  static func isOrder(of descriptor: NSSortDescriptor) -> Bool {
    switch type(of: descriptor.keyPath).valueType {
    case is String.Type: return isOrder(descriptor, ["B", "a", "a10", "a9", "b", "é"])
    case is Int.Type: return isOrder(descriptor, [-11, 2, 10, 300])
    case is Int16.Type: return isOrder(descriptor, [-11, 2, 10, 300] as [Int16])
    case is Int32.Type: return isOrder(descriptor, [-11, 2, 10, 300] as [Int32])
    case is Int64.Type: return isOrder(descriptor, [-11, 2, 10, 300] as [Int64])
    case is Double.Type: return isOrder(descriptor, [-11, 2.5, 10, 300] as [Double])
    case is Float.Type: return isOrder(descriptor, [-11, 2.5, 10, 300] as [Float])
    case is Date.Type:
      return isOrder(descriptor, [-1e9, 0, 1, 1e9].map { Date(timeIntervalSinceReferenceDate: $0) })
    default: return true
    }
  }

  private static func isOrder<Value>(_ descriptor: NSSortDescriptor, _ ascending: [Value]) -> Bool {
    let compare = descriptor.comparator
    for (place, one) in ascending.enumerated() {
      for (other, two) in ascending.enumerated() {
        let expected: ComparisonResult =
          place < other ? .orderedAscending : place > other ? .orderedDescending : .orderedSame
        if compare(one, two) != expected { return false }
      }
    }
    return true
  }
}

/// Sorting by several sort descriptors; elements that all of them call equal keep their places.
enum SortedElements {
  static func sorted<Element>(_ elements: [Element], by descriptors: [NSSortDescriptor]) -> [Element] {
    elements.sorted { first, second in
      for descriptor in descriptors {
        switch descriptor.compare(first, to: second) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return false
    }
  }
}
