import Foundation
import StrataCore

extension StoreConformance {
  // MARK: Indexes

  static let indexCases: [ConformanceCase] = [
    ConformanceCase("indexes", "one that is added while contexts have the store open", needs: [.indexes]) {
      stand in
      let coordinator = try stand.open()
      let context = try filled(stand, coordinator)
      let heard = Mutex<[IndexProgress]>([])
      try add("byMedium", ["medium"], coordinator) { step in heard.withLock { $0.append(step) } }
      let steps = heard.withLock { $0 }
      try expectEqual(steps.last?.fractionCompleted, 1, "the progress at the end")
      try expectEqual(steps.last?.totalRows, 60, "the rows")
      try expect(
        zip(steps, steps.dropFirst()).allSatisfy { $0.completedRows <= $1.completedRows }, "it goes back")
      try expectEqual(try added(coordinator), ["byMedium complete"], "the indexes")
      try requireAnswers(context)
      try requireAnswers(stand.context(on: coordinator))
      try remove("byMedium", coordinator)
      try expectEqual(try added(coordinator), [], "the indexes afterwards")
      try requireAnswers(stand.context(on: coordinator))
    },
    ConformanceCase(
      "indexes", "they stay when the store is opened again", needs: [.indexes, .persistence]
    ) { stand in
      let first = try stand.open()
      _ = try filled(stand, first)
      try add("byString", ["string", "medium"], first)
      try stand.close()
      let again = try stand.open()
      try expectEqual(try added(again), ["byString complete"], "the indexes")
      try requireAnswers(stand.context(on: again))
    },
    ConformanceCase(
      "indexes", "what one program adds another uses, keeps right and removes", needs: [.indexes, .sharing]
    ) { stand in
      let (first, second) = (try stand.open(), try stand.open())
      _ = try filled(stand, first)
      let other = stand.context(on: second)
      try requireAnswers(other)
      try add("byString", ["string"], first)
      other.make("Item", ["number": 900 as Int64, "string": "s1", "medium": 3 as Int64])
      try other.save()
      try requireAnswers(stand.context(on: first))
      try requireAnswers(stand.context(on: second))
      try expectEqual(try added(second), ["byString complete"], "the indexes")
      try remove("byString", second)
      try expectEqual(try added(first), [], "the indexes afterwards")
      try requireAnswers(stand.context(on: first))
    },
    ConformanceCase("indexes", "names that are taken, and none", needs: [.indexes]) { stand in
      let coordinator = try stand.open()
      _ = try filled(stand, coordinator)
      try add("a", ["medium"], coordinator)
      try add("a", ["medium"], coordinator)
      try expectCode(.persistentStoreOperation, "another one of the name") {
        try add("a", ["small"], coordinator)
      }
      try expectCode(.persistentStoreOperation, "one that there is not") { try remove("b", coordinator) }
      _ = try expectError("an attribute that there is not") { try add("c", ["depth"], coordinator) }
      _ = try expectError("an attribute that has no order") { try add("c", ["list"], coordinator) }
      try expectEqual(try added(coordinator), ["a complete"], "the indexes")
      try remove("a", coordinator)
      try add("a", ["small"], coordinator)
      try expectEqual(try added(coordinator), ["a complete"], "the indexes at the end")
    },
    ConformanceCase("indexes", "several at once, and one twice", needs: [.indexes]) { stand in
      let coordinator = try stand.open()
      let context = try filled(stand, coordinator)
      try waited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for attribute in ["medium", "string", "date"] {
            for _ in 0..<2 {
              group.addTask {
                try await coordinator.addIndex(
                  FetchIndexDescription(name: "by \(attribute)", attributes: [attribute]),
                  toEntityNamed: "Item", in: coordinator.persistentStores[0])
              }
            }
          }
          try await group.waitForAll()
        }
      }
      try expectEqual(
        try added(coordinator), ["by date complete", "by medium complete", "by string complete"],
        "the indexes")
      try requireAnswers(context)
    },
    ConformanceCase("indexes", "a task that is cancelled adds none", needs: [.indexes]) { stand in
      let coordinator = try stand.open()
      _ = try filled(stand, coordinator)
      let error = try expectError("a cancelled task") {
        try waited {
          withUnsafeCurrentTask { $0?.cancel() }
          try await coordinator.addIndex(
            FetchIndexDescription(name: "a", attributes: ["medium"]), toEntityNamed: "Item",
            in: coordinator.persistentStores[0])
        }
      }
      try expect(error is CancellationError, "it threw \(error)")
      try expectEqual(try added(coordinator), [], "the indexes")
      try add("a", ["medium"], coordinator)
      try expectEqual(try added(coordinator), ["a complete"], "the indexes afterwards")
    },
    ConformanceCase("indexes", "they survive a migration that renames", needs: [.indexes, .migration]) {
      stand in
      let first = try stand.open()
      _ = try filled(stand, first)
      try add("byMedium", ["medium"], first)
      try add("bySmall", ["small"], first)
      try add("byString", ["string"], first)
      try stand.close()
      let model = stand.model
      guard let item = model.entitiesByName["Item"], let medium = item.propertiesByName["medium"] else {
        throw NotConforming(description: "the model is another one")
      }
      medium.renamingIdentifier = "medium"
      medium.name = "middle"
      item.properties.removeAll { $0.name == "small" }
      let coordinator = try stand.open(model) {
        $0.migratesAutomatically = true
        $0.permittedLosses = ["Item.small"]
      }
      try expectEqual(try added(coordinator), ["byMedium complete", "byString complete"], "the indexes")
      let indexes = try coordinator.indexes(in: coordinator.persistentStores[0])
      try expectEqual(
        indexes.first { $0.name == "byMedium" }?.attributes.map(\.name), ["middle"], "the attributes")
      try remove("byMedium", coordinator)
      try expectEqual(try added(coordinator), ["byString complete"], "the indexes afterwards")
    },
  ]

  /// Sixty items, some of whose values are nil.
  private static func filled(_ stand: ConformanceStand, _ coordinator: PersistentStoreCoordinator) throws
    -> ManagedObjectContext
  {
    let context = stand.context(on: coordinator)
    for number in 0..<60 as Range<Int64> {
      let item = context.make("Item", ["number": number, "small": number % 7])
      if number % 5 != 0 { item.setValue(number * 37 % 11, forKey: "medium") }
      if number % 3 != 0 { item.setValue("s\(number % 13)", forKey: "string") }
    }
    try context.save()
    return context
  }

  /// What indexes find is what all rows say.
  private static func requireAnswers(_ context: ManagedObjectContext) throws {
    let all = try context.all("Item")
    func numbers(_ objects: [ManagedObject]) -> [Int64] {
      objects.map { Int64($0.integer("number") ?? -1) }.sorted()
    }
    let few = all.filter { ($0.integer("medium") ?? -1) >= 2 && ($0.integer("medium") ?? 99) < 6 }
    let between: FetchPredicate = Attribute("medium") >= 2 && Attribute("medium") < 6
    try expectEqual(numbers(try context.all("Item", between)), numbers(few), "the numbers between")
    let named = all.filter { $0.value(forKey: "string") as? String == "s1" }
    try expectEqual(
      numbers(try context.all("Item", Attribute("string") == "s1")), numbers(named), "those of a name")
    let begun = all.filter { ($0.value(forKey: "string") as? String)?.hasPrefix("s1") == true }
    try expectEqual(
      numbers(try context.all("Item", Attribute("string").beginsWith("s1"))), numbers(begun),
      "those that begin so")
  }

  private static func added(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
    try coordinator.indexes(in: coordinator.persistentStores[0]).filter(\.isAdded).map {
      "\($0.name) \($0.isComplete ? "complete" : "growing")"
    }
  }

  private static func add(
    _ name: String, _ attributes: [String], _ coordinator: PersistentStoreCoordinator,
    progress: (@Sendable (IndexProgress) -> Void)? = nil
  ) throws {
    try waited {
      try await coordinator.addIndex(
        FetchIndexDescription(name: name, attributes: attributes), toEntityNamed: "Item",
        in: coordinator.persistentStores[0], progress: progress)
    }
  }

  private static func remove(_ name: String, _ coordinator: PersistentStoreCoordinator) throws {
    try waited {
      try await coordinator.removeIndex(
        named: name, ofEntityNamed: "Item", in: coordinator.persistentStores[0])
    }
  }
}

/// Runs tasks on threads of their own: who waits for one takes none of the few that tasks have together.
private final class ThreadsOfItsOwn: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// Waits for what takes its time.
private func waited(_ body: @escaping @Sendable () async throws -> Void) throws {
  let outcome = Mutex<Result<Void, any Error>?>(nil)
  let finished = DispatchSemaphore(value: 0)
  Task.detached(executorPreference: ThreadsOfItsOwn()) {
    let result: Result<Void, any Error>
    do {
      try await body()
      result = .success(())
    } catch { result = .failure(error) }
    outcome.withLock { $0 = result }
    finished.signal()
  }
  finished.wait()
  try outcome.withLock { $0 }?.get()
}
