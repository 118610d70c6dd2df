import Foundation

/// Whether a migration may go on although something is lost by it.
struct LossJudge {
  let permission: MigrationPermission
  /// The program's model.
  let model: ManagedObjectModel
  /// The version that the store is of, the one that it is to be of, and those that it was of before.
  let stored: StoredVersions
  let wanted: StoredVersions
  let lineage: StoreLineage

  /// Whether anything is lost by the migration, which is permitted then. Of a copy nothing is: the original has it.
  ///
  /// - Throws: ``CoreDataError`` 134130 when the program does not know the store's model, 134110 when it does and the store has been of its
  ///   version before; with everything that would be lost.
  func allows(_ plan: LossPlan, in rows: SourceRows, progress: BatchProgress) throws -> Bool {
    var count = LossCount(plan, rows, progress: progress)
    return try allows(plan) {
      try count.findsAny()
    } counts: {
      try count.run()
      return count.counts
    }
  }

  /// The same for rows of any engine: `findsAny` says whether anything would be lost, `counts` how many objects lose what, by number of the loss.
  func allows(_ plan: LossPlan, findsAny: () throws -> Bool, counts: () throws -> [Int]) throws -> Bool {
    if plan.isEmpty || permission.isForCopy { return false }
    let knowsNothing = permission.losesNothing || lineage.contains(wanted)
    let knowledge = knowsNothing ? nil : Knowledge(permission, model, stored)
    if knowledge?.isEnough == true { return try findsAny() }
    let counts = try counts()
    var refused: [LossName: Int] = [:]
    for (loss, number) in zip(plan.losses, counts)
    where number > 0 && loss.permittedBy.isDisjoint(with: permission.permittedLosses) {
      refused[LossName(name: loss.name, isOrder: loss.kind == .order), default: 0] += number
    }
    if refused.isEmpty { return counts.contains { $0 > 0 } }
    throw refusal(refused, knowledge ?? Knowledge(permission, model, stored))
  }

  private struct LossName: Hashable {
    let name: String
    let isOrder: Bool
  }

  private func refusal(_ losses: [LossName: Int], _ knowledge: Knowledge) -> CoreDataError {
    let sorted = losses.sorted {
      ($0.key.name, $0.key.isOrder ? 1 : 0) < ($1.key.name, $1.key.isOrder ? 1 : 0)
    }
    let list = sorted.map { loss, count in
      "\(loss.isOrder ? "the order of " : "")\(loss.name) (\(count) \(count == 1 ? "object" : "objects"))"
    }.joined(separator: ", ")
    let names = Set(sorted.map(\.key.name)).sorted()
    let permission =
      "permit it by name in the store's description: permittedLosses = [\(names.map { "\"\($0)\"" }.joined(separator: ", "))]"
    let hasBeenHere = lineage.contains(wanted)
    var reason: String
    if hasBeenHere {
      reason =
        "The store has been of this version before, and a program of a later version has migrated it since: open it with that program. "
        + "To go back all the same, \(permission)."
    } else {
      reason =
        "This program does not know the model that the store is of, which may be a later one. If it is an earlier one, hand it over in the "
        + "store's description: knownModels = [thatModel]; to do without, \(permission)."
    }
    for problem in knowledge.problems { reason += " A version beside the model cannot be read: \(problem)" }
    let counts = Dictionary(losses.map { ($0.key.name, $0.value) }, uniquingKeysWith: max)
    let text = "To open the store with this model would lose \(list). Nothing was changed."
    return CoreDataError(
      knowledge.isEnough ? .migration : .migrationMissingSourceModel, "\(text) \(reason)",
      userInfo: [
        "reason": reason, MigrationPermission.lossesKey: counts, MigrationPermission.lossesTextKey: text,
        MigrationPermission.wasOfVersionKey: hasBeenHere,
      ])
  }
}

/// Which versions of entities a program knows.
private struct Knowledge {
  /// Whether it knows all of the store's.
  let isEnough: Bool
  /// What could not be read.
  let problems: [String]

  init(_ permission: MigrationPermission, _ model: ManagedObjectModel, _ stored: StoredVersions) {
    if permission.knowsSource {
      (isEnough, problems) = (true, [])
      return
    }
    var missing = stored.hashes
    func learn(_ model: ManagedObjectModel) {
      for (name, hash) in model.entityVersionHashesByName where missing[name] == hash { missing[name] = nil }
    }
    learn(model)
    for model in permission.knownModels { learn(model) }
    var unread: [String] = []
    if !missing.isEmpty {
      for version in model.versionsBeside {
        do { learn(try ManagedObjectModel(contentsOf: version.url)) } catch { unread.append("\(error)") }
      }
    }
    isEnough = missing.isEmpty
    problems = unread
  }
}
