import Foundation

// Where errors of reading go: to the caller where the call can throw, to the context's handler where it cannot.

/// What could not be read during a call that will throw, or that will report it when it is over.
struct ReadFailures {
  /// Nil while failures are told one by one.
  fileprivate var kept: [ReadFailure]?
  fileprivate var isTelling = false
  /// How many there have been.
  fileprivate(set) var count = 0
  /// How many edits have been postponed.
  fileprivate var editCount = 0
  /// The fault that could not be read just now, by the accessor that goes on.
  var fault: ObjectIdentifier?
  /// Edits that wait for something that could not be read.
  var unfinished: [UnfinishedEdit] = []
}

/// An edit that could not be made in full because something it needs could not be read: the next save finishes it first.
struct UnfinishedEdit {
  let number: Int
  let object: ManagedObject
  /// Does what was left. What cannot be read is reported, as always.
  let finish: () throws -> Void
}

extension ManagedObjectContext {
  /// Reports something that could not be read.
  func report(_ failure: ReadFailure) {
    failures.count &+= 1
    if failures.kept != nil {
      failures.kept?.append(failure)
    } else {
      tell(failure)
    }
  }

  /// Reports a read that failed in a call that cannot throw.
  package final func report(unread error: any Error, _ identifiers: [ManagedObjectID]) {
    report(ReadFailure(error, identifiers))
  }

  func report(_ error: any Error, reading object: ManagedObject, property: String? = nil) {
    report(ReadFailure(error, [object.objectID], property: property))
  }

  /// Hands a failure to the handler. What cannot be read inside of it, and while there is no handler, is a message.
  func tell(_ failure: ReadFailure) {
    guard let handler = readFailureHandler, !failures.isTelling else {
      return Diagnostics.write(description, failure, .error)
    }
    failures.isTelling = true
    defer { failures.isTelling = false }
    handler(failure)
  }

  /// Runs `body`, which reads for a call that can throw.
  ///
  /// - Throws: what `body` throws; but if something could not be read, the error of the first such thing, from which everything else may
  ///   follow.
  func throwingFailures<R>(_ body: () throws -> R) throws -> R {
    let outer = failures.kept
    failures.kept = []
    defer { failures.kept = outer }
    let result = Result { try body() }
    if let first = failures.kept?.first { throw first.error }
    return try result.get()
  }

  /// Runs `body`, which cannot throw and must not be interrupted: what it could not read is told when it is over.
  func tellingAfterwards<R>(_ body: () throws -> R) rethrows -> R {
    if failures.kept != nil { return try body() }
    failures.kept = []
    defer {
      let kept = failures.kept ?? []
      failures.kept = nil
      for failure in kept { tell(failure) }
    }
    return try body()
  }

  /// Runs `body` and answers whether everything it needed could be read.
  func readsAll(_ body: () throws -> Void) rethrows -> Bool {
    let count = failures.count
    try body()
    return failures.count == count
  }

  // MARK: Edits that wait

  /// `object` was edited although something that the edit needs could not be read. The save does the rest, or fails.
  func postpone(_ object: ManagedObject, _ finish: @escaping () throws -> Void) {
    failures.editCount += 1
    let edit = UnfinishedEdit(number: failures.editCount, object: object, finish: finish)
    failures.unfinished.append(edit)
    undoRecorder?.postponed.append(edit)
  }

  /// Before a save: what edits had to leave is done now.
  ///
  /// - Throws: the error of what still cannot be read. The edits wait on then.
  func finishEdits() throws {
    if failures.unfinished.isEmpty { return }
    let waiting = failures.unfinished
    failures.unfinished = []
    for place in waiting.indices where waiting[place].object.context === self {
      do {
        try throwingFailures { try waiting[place].finish() }
      } catch {
        // What it has postponed again is the same once more.
        failures.unfinished = Array(waiting[place...])
        throw error
      }
    }
  }
}

extension ManagedObject {
  /// The object is a fault whose row could not be read, and is edited all the same: the edits take precedence over the row.
  final func noteUnreadEdit() {
    guard let context else { return }
    context.postpone(self) { [unowned self] in fire() }
  }

  /// The row beneath edits that were made without it has been read: what it says of the other ends counts for them, too.
  final func settleUnreadEdits() {
    guard let draft, let snapshot, let context else { return }
    for relationship in home.entity.relationships
    where !relationship.isToMany && !relationship.isTransient && draft.isChanged(relationship.slot) {
      let old = snapshot.reference(relationship, home)
      guard old != 0, .reference(old) != draft[relationship.slot],
        let inverse = context.schema.inverse(of: relationship)
      else { continue }
      if inverse.isToMany {
        adoptMembership(relationship, from: old, to: 0)
      } else if let partner = context.object(old, inStore: home.storeIndex) {
        partner.leave(inverse, self)
      }
    }
  }

  /// Reads everything there is of the object: its row, large values, members.
  final func readWhole() {
    fire()
    home.persistentSlots.forEach { _ = storedValue($0) }
    for relationship in home.entity.relationships where relationship.isToMany {
      _ = untrackedState(relationship)
    }
  }

  /// Clears a reference if it leads to `other`. One that cannot be read now is looked at by the save, unless it has been set by then.
  final func leave(_ relationship: RelationshipSchema, _ other: ManagedObject) {
    claim()
    var isLeading = false
    let isRead = context?.readsAll { isLeading = reference(relationship) == other.referenceBits } ?? true
    if isLeading { storeReference(0, relationship) }
    guard !isRead else { return }
    context?.noteFirstEdit()
    context?.changes.update(self)
    context?.postpone(self) { [unowned self] in
      if let draft, draft.isChanged(relationship.slot) { return }
      leave(relationship, other)
    }
  }
}
