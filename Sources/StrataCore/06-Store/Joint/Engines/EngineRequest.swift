import Foundation

/// A predicate in the form in which engines read it that have a query language of their own: slots, values of the attributes' types,
/// objects as primary keys.
///
/// Tests are false for nil, apart from `isNil`. Negations stand before single tests only.
package indirect enum EnginePredicate: Sendable {
  /// How the value of a slot is compared.
  package enum Operation: Sendable {
    case isNil, equal, less, lessOrEqual, greater, greaterOrEqual, oneOf, beginsWith, contains, endsWith
  }

  /// How a text is compared whose bytes do not tell by themselves.
  package struct Text: Sendable {
    package let slot: Int
    package let operation: ComparisonOperator
    /// One for every operator but `in`.
    package let patterns: [String]
    package let options: FetchComparison.StringOptions
  }

  case all
  case none
  /// The value of a slot against operands of its type: none for `isNil`, one or more for `oneOf`, otherwise one.
  case test(slot: Int, Operation, [AttributeValue])
  /// The object is one of those with these keys.
  case keys([UInt64])
  /// The to-one relationship in the slot leads to one of the objects with these keys.
  case references(slot: Int, [UInt64])
  case text(Text)
  /// An object at the other end of the relationship of this number satisfies the predicate.
  case related(relationship: Int, EnginePredicate)
  /// How many members the to-many relationship of this number has.
  case memberCount(relationship: Int, ComparisonOperator, Int64)
  /// Something that only ``RowFilter`` decides.
  case opaque
  case not(EnginePredicate)
  case and([EnginePredicate])
  case or([EnginePredicate])
}

/// A sort key: the value of a slot at the end of to-one relationships, nil where one of them leads nowhere.
package struct EngineSort: Sendable {
  /// The numbers of the relationships.
  package let steps: [Int]
  package let slot: Int
  package let isAscending: Bool
}

/// A fetch request in the form in which engines read it that have a query language of their own.
package struct EngineRequest: Sendable {
  /// The request.
  package let request: ResolvedFetchRequest
  /// What all must be true, one by one.
  package let conjuncts: [EnginePredicate]
  /// The order; rows that it does not tell apart come by primary key, ascending unless ``keysDescend``. Values are compared as they are, texts by their bytes: a request
  /// that says otherwise has ``candidates``.
  package let sorts: [EngineSort]
  private let parts: [ResolvedPredicate]
  private let storeIdentifier: UUID

  /// The request as it is asked of the store with that identifier.
  package init(_ request: ResolvedFetchRequest, storeIdentifier: UUID) {
    self.request = request
    self.storeIdentifier = storeIdentifier
    parts = request.predicate == .none ? [.none] : request.predicate.conjuncts
    let converter = Converter(schema: request.schema, storeIdentifier: storeIdentifier)
    conjuncts = parts.map { converter.convert($0, request.entity) }
    sorts = request.sorts.map { EngineSort(steps: $0.steps, slot: $0.slot, isAscending: $0.isAscending) }
  }

  /// The request without order and window, when it sorts texts in another order than that of their bytes: then ``FetchInMemory`` decides what it
  /// finds among these. Nil otherwise.
  package var candidates: ResolvedFetchRequest? {
    if request.sorts.allSatisfy(\.isByBytes) { return nil }
    return request.candidates(request.predicate, keepsSorts: false)
  }

  /// Whether rows that the order does not tell apart come by descending primary key.
  package var keysDescend: Bool { request.keysDescend }

  /// Whether the result begins behind an object: then ``RowFilter`` decides which rows belong to it.
  package var hasStart: Bool { request.start != nil }

  /// What is left to decide of rows that satisfy all conjuncts but those at `places`; nil when nothing is. What rows lead to is read
  /// from `reading`.
  package func filter(places: [Int], reading: any StoreReading) -> RowFilter? {
    if places.isEmpty, !hasStart { return nil }
    return RowFilter(request, .conjunction(places.map { parts[$0] }), reading, storeIdentifier)
  }

  private struct Converter {
    let schema: Schema
    let storeIdentifier: UUID

    func convert(_ predicate: ResolvedPredicate, _ entity: EntitySchema) -> EnginePredicate {
      switch predicate {
      case .all: return .all
      case .none: return .none
      case .test(let test): return .test(slot: test.slot, operation(test.operation), test.operands)
      case .selfIn(let identifiers):
        return .keys(keys(identifiers, schema.hierarchies[entity.hierarchyNumber].rootName))
      case .reference(let test): return .references(slot: test.slot, keys(test.identifiers, test.rootName))
      case .text(let test):
        return .text(
          EnginePredicate.Text(
            slot: test.slot, operation: test.operation, patterns: test.patterns, options: test.options))
      case .related(let number, _, let part):
        return .related(
          relationship: number, convert(part, schema.entities[schema.relationships[number].destination]))
      case .comparison(let comparison): return count(comparison) ?? .opaque
      case .not(let part): return .not(convert(part, entity))
      case .and(let parts): return .and(parts.map { convert($0, entity) })
      case .or(let parts): return .or(parts.map { convert($0, entity) })
      }
    }

    private func keys(_ identifiers: [ManagedObjectID], _ rootName: String) -> [UInt64] {
      IdentifierKeys.of(identifiers, rootName: rootName, storeIdentifier: storeIdentifier)
    }

    /// A comparison of the number of members with a constant; nil for any other.
    private func count(_ comparison: ResolvedComparison) -> EnginePredicate? {
      guard comparison.quantifier == .direct,
        case .aggregate(.count, .path(.object(up: 0), let steps, nil), _) = comparison.left, steps.count == 1,
        schema.relationships[steps[0]].isToMany, case .constant(.integer(let number)) = comparison.right
      else { return nil }
      switch comparison.operation {
      case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
        return .memberCount(relationship: steps[0], comparison.operation, number)
      default: return nil
      }
    }

    private func operation(_ operation: SlotTest.Operation) -> EnginePredicate.Operation {
      switch operation {
      case .isNil: .isNil
      case .equal: .equal
      case .less: .less
      case .lessOrEqual: .lessOrEqual
      case .greater: .greater
      case .greaterOrEqual: .greaterOrEqual
      case .oneOf: .oneOf
      case .beginsWith: .beginsWith
      case .contains: .contains
      case .endsWith: .endsWith
      }
    }
  }
}

/// Decides of rows what a query language could not, exactly as the other engines do. Used by one thread, for one state of a store.
package final class RowFilter {
  private let request: ResolvedFetchRequest
  private let program: CompiledPredicate
  private let sorts: [BoundExpression]
  private let view: ReadingView
  private let evaluation: Evaluation<ReadingView>

  init(
    _ request: ResolvedFetchRequest, _ predicate: ResolvedPredicate, _ reading: any StoreReading,
    _ storeIdentifier: UUID
  ) {
    self.request = request
    let binder = request.binder(storeIdentifier: storeIdentifier)
    program = binder.compile(predicate, request.entity.number)
    sorts = request.start == nil ? [] : request.sorts.map { binder.bind($0.expression) }
    view = ReadingView(reading, schema: request.schema, storeIdentifier: storeIdentifier)
    evaluation = Evaluation(view, entityName: request.entity.name)
  }

  /// Whether the row, which has its values, belongs to the result.
  /// - Throws: ``FetchError`` and what the reading throws.
  package func matches(_ row: FetchedRow) throws -> Bool {
    guard let snapshot = row.snapshot else { return false }
    let node = ReadingView.Node(row: snapshot, entity: row.entity, primaryKey: row.primaryKey)
    guard try evaluation.matches(program, node) else { return false }
    guard let start = request.start else { return true }
    return try request.isBehindStart(
      start, { try evaluation.evaluate(sorts[$0], for: node).single }, row.primaryKey)
  }
}
