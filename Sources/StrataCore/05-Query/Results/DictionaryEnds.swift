import Foundation

extension ResolvedDictionaryRequest {
  /// An aggregate of all rows that the ends of an index answer.
  enum End {
    /// How many rows there are.
    case count(ResolvedFetchRequest)
    /// The first row of a request is the one with the value.
    case extreme(ResolvedFetchRequest, slot: Int)
  }

  /// What answers a request whose columns are made of such aggregates only, one for each, in a store that has the indexes; nil for
  /// every other request.
  var ends: [End]? {
    guard isGrouped, keys.isEmpty, samples.isEmpty, !aggregates.isEmpty else { return nil }
    var ends: [End] = []
    for aggregate in aggregates {
      guard let source = aggregate.source.map({ sources[$0] }) else {
        ends.append(.count(fetch))
        continue
      }
      guard let slot = source.slot, fetch.entity.relationship(slot: slot) == nil else { return nil }
      let attribute = fetch.entity.attributes[slot]
      let isMaximum = aggregate.function == .maximum
      guard isMaximum || aggregate.function == .minimum, !attribute.type.hasCutKeys else { return nil }
      let sort = ResolvedSort(
        slot: slot, type: attribute.type, isAscending: !isMaximum, name: attribute.name)
      guard let request = fetch.firstRow(by: sort) else { return nil }
      ends.append(.extreme(request, slot: slot))
    }
    return ends
  }
}

extension ResolvedFetchRequest {
  /// The request for the one row that comes first by `sort`, rows with nil left out; nil when its predicate is more than that.
  fileprivate func firstRow(by sort: ResolvedSort) -> ResolvedFetchRequest? {
    guard predicate == .all else { return nil }
    // Nil comes before all values: at the small end it is skipped by beginning behind it.
    let least: AttributeValue? =
      switch sort.type {
      case .integer16, .integer32, .integer64: .integer(.min)
      case .double: .double(-.infinity)
      case .float: .float(-.infinity)
      case .date: .date(Date(timeIntervalSinceReferenceDate: -.infinity))
      default: nil
      }
    var condition = ResolvedPredicate.all
    if sort.isAscending {
      guard let least else { return nil }
      condition = .test(
        SlotTest(
          slot: sort.slot, name: sort.name, type: sort.type, operation: .greaterOrEqual, operands: [least]))
    }
    var request = candidates(condition, keepsSorts: false).sorted(by: sort)
    request.limit = 1
    return request
  }
}
