import Foundation

// What engines outside of this module answer with.

extension CommitResult {
  /// What a commit of that number has done, with rows whose derived values were computed and rows that have lost a relationship to a deleted one.
  package init(number: UInt64, derived: [RowChange], touched: [RowTouch]) {
    self.init(commitNumber: number, derivedRows: derived, touched: touched)
  }
}

extension CommitConflict {
  /// The rows that have changed or gone, and a version that none of them has ever exceeded.
  package init(rows: [RowConflict], newest: UInt32) {
    self.init(conflicts: rows, newestVersion: newest)
  }
}

extension RowConflict {
  /// A row of a hierarchy, and what is stored now; nil when it is gone.
  package init(hierarchy: Int, key: UInt64, found: FetchedRow?) {
    self.init(hierarchy: hierarchy, primaryKey: key, stored: found)
  }
}

extension UniquenessViolation {
  /// All pairs that share values.
  package init(pairs: [ConstraintViolation]) { self.init(violations: pairs) }
}

extension ConstraintViolation {
  /// Two rows that share the values of a constraint.
  package init(
    schema: Schema, index: IndexSchema, entity: Int, key: UInt64, otherKey: UInt64, isInStore: Bool
  ) {
    let owner = schema.entities[index.owner]
    self.init(
      entity: entity, index: index.number, entityName: owner.name,
      constraint: index.parts.map { owner.attributes[$0.slot].name }, primaryKey: key,
      otherPrimaryKey: otherKey, isInStore: isInStore)
  }
}

extension DanglingReferences {
  /// The references that would lead nowhere.
  package init(all references: [Reference]) { self.init(references: references) }
}

extension DanglingReferences.Reference {
  /// Why a reference may not be.
  package enum Fault: Sendable {
    /// The row it leads to is not there.
    case noTarget
    /// The row it leads to is deleted by a change set that does not know of the reference.
    case leftBehind
    /// The row it starts from is not there.
    case noSource
    /// The row it leads to does not refer back.
    case oneSided
  }

  /// A reference of a relationship that may not be.
  package init(_ relationship: Int, source: UInt64, target: UInt64, _ fault: Fault) {
    self.init(
      relationship: relationship, source: source, target: target, isLeftBehind: fault == .leftBehind,
      isSourceMissing: fault == .noSource, isOneSided: fault == .oneSided)
  }
}

extension FetchedRows {
  /// Rows that were found as `words` say.
  package init(_ rows: ContiguousArray<FetchedRow>, count: Int, words: String) {
    self.init(
      rows: rows, count: count,
      plan: FetchPlan(
        access: .scan, isOrdered: true, residual: nil, filtersEntities: false, description: words))
  }
}

extension ManagedObjectModel {
  /// The model in the form in which stores keep it.
  /// - Throws: `ModelError` when something in it has no such form.
  package func storedForm() throws -> Data { try ModelCoding.encode(self) }

  /// The model that a store keeps, changeable. Classes are found by name.
  /// - Throws: `ModelError` when the bytes are damaged.
  package static func model(storedForm: Data) throws -> ManagedObjectModel {
    try ModelCoding.decode(storedForm)
  }
}

extension StoreMetadata {
  /// The metadata with the keys that every store has (rule 303).
  package func withStandardKeys(
    identifier: UUID, type: String, versionHashes: [String: Data], versionIdentifiers: [String]
  ) -> StoreMetadata {
    var result = self
    result[Self.identifierKey] = .string(identifier.uuidString)
    result[Self.typeKey] = .string(type)
    result[Self.versionHashesKey] = .dictionary(versionHashes.mapValues { .data($0) })
    result[Self.versionIdentifiersKey] = .array(versionIdentifiers.map { .string($0) })
    return result
  }

  /// The metadata without the keys that every store has.
  package var programsOwn: StoreMetadata {
    StoreMetadata(values: values.filter { !Self.standardKeys.contains($0.key) })
  }
}
