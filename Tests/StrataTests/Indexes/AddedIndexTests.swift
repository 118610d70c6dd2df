import Foundation
import Strata
import Testing
import TortureKit

/// Indexes that are added to a store while contexts have it open.
@Suite struct AddedIndexTests {
  @Test func openContextsUseItAtOnce() async throws {
    let stand = try IndexStand(300)
    let context = stand.context()
    let child = ManagedObjectContext(.privateQueue, parent: context)
    #expect(try stand.explain(context).isScan)
    let heard = Guarded<[IndexProgress]>([])
    try await stand.add("byLength", "length") { progress in heard.withLock { $0.append(progress) } }
    let steps = heard.withLock { $0 }
    #expect(steps.count == 30 && steps.last?.fractionCompleted == 1)
    #expect(steps[4].completedRows == 50 && steps[4].totalRows == 300)
    for context in [context, child] {
      let explanation = try stand.explain(context, .executing)
      #expect(explanation.indexName == "Vessel.byLength")
      #expect(explanation.stores[0].isOrdered)
      #expect(explanation.stores[0].execution?.rowsExamined == explanation.returned)
      try stand.requireSameAnswers(context)
    }
    try await stand.add("byNameLength", "name", "length")
    try context.performAndWait {
      // A count through the entries alone, an order, the ends of the index, a subentity.
      let covered = try context.explainCount(
        for: FetchRequest<ManagedObject>(
          entityName: "Vessel", predicate: Attribute("name") == "vessel 3" && Attribute("length") != 20),
        .executing)
      #expect(covered.indexName == "Vessel.byNameLength" && covered.stores[0].execution?.rowsExamined == 0)
      let longest = FetchRequest<ManagedObject>(
        entityName: "Vessel", sortDescriptors: [FetchSort("length", ascending: false)], fetchLimit: 5)
      #expect(try context.explain(longest).indexName == "Vessel.byLength")
      let lengths = (0..<300).map { $0 * 37 % 101 }.sorted(by: >)
      #expect(try context.fetch(longest).map(IndexStand.length) == Array(lengths.prefix(5)))
      let ferries = FetchRequest<ManagedObject>(entityName: "Ferry", predicate: Attribute("length") == 10)
      #expect(try context.explain(ferries).indexName == "Vessel.byLength")
    }
    #expect(
      try stand.coordinator.indexes(in: stand.engine).map { "\($0.name) \($0.entryCount) \($0.isAdded)" }
        == ["byLength 300 true", "byNameLength 300 true", "unique(mark) 300 false"])
    try stand.requireSound()
  }

  /// Unsaved changes, in a context and the one above it, are laid over what the index finds.
  @Test func unsavedChangesAreSeenThroughIt() async throws {
    let stand = try IndexStand(200)
    let context = stand.context()
    let child = ManagedObjectContext(.privateQueue, parent: context)
    try context.performAndWait {
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
      for (place, object) in all.enumerated() where place % 9 == 0 { object.setValue(40, forKey: "length") }
      for (place, object) in all.enumerated() where place % 31 == 1 { context.delete(object) }
      for number in 200..<230 { try IndexStand.make(number, context) }
    }
    try child.performAndWait { try IndexStand.make(235, child).setValue(41, forKey: "length") }
    try await stand.add("byLength", "length")
    #expect(try stand.explain(context).indexName == "Vessel.byLength")
    try stand.requireSameAnswers(context)
    try stand.requireSameAnswers(child)
    try child.performAndWait { try child.save() }
    try context.performAndWait { try context.save() }
    try stand.requireSameAnswers()
    try stand.requireSound()
  }

  /// Between any two steps others insert, change and delete rows, of those that are done and of those that are not.
  @Test func savesAndBatchesWhileItGrowsKeepItRight() async throws {
    let stand = try IndexStand(500)
    let pinned = stand.context()
    try pinned.performAndWait { try pinned.setQueryGenerationFrom(.current) }
    // The first read says which commit that is.
    try stand.requireSameAnswers(pinned)
    let seen = Guarded<[String]>([])
    try await stand.add("byLength", "length") { progress in
      do {
        try Self.disturb(stand, progress.completedRows)
        try stand.requireSound("after \(progress.completedRows) rows")
        let isScan = try stand.explain().isScan
        seen.withLock { $0.append(isScan ? "scan" : "index") }
        try stand.requireSameAnswers()
      } catch {
        Issue.record(error)
      }
    }
    let words = seen.withLock { $0 }
    #expect(words.count > 40 && words.dropLast().allSatisfy { $0 == "scan" } && words.last == "index")
    try stand.requireSound()
    // The view of before the index knows nothing of it.
    #expect(try stand.explain(pinned).isScan)
    try stand.requireSameAnswers(pinned)
    try await stand.remove("byLength")
    try stand.requireSameAnswers(pinned)
    #expect(try stand.explain().isScan)
    try stand.requireSameAnswers()
  }

  /// Saves and batches that touch rows on both sides of `done`.
  private static func disturb(_ stand: IndexStand, _ done: Int) throws {
    let step = done / 10
    try stand.edit { context in
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
      for place in [step, done + 3, all.count - 1] where place < all.count {
        all[place].setValue((step * 7 + place) % 101, forKey: "length")
      }
      if step % 3 == 0 { context.delete(all[min(done + 5, all.count - 2)]) }
      if step % 3 == 1 { context.delete(all[step / 2]) }
      for number in 0..<3 { try IndexStand.make(1_000 + step * 3 + number, context) }
      try context.save()
      if step % 10 == 5 {
        var request = BatchUpdateRequest(entityName: "Vessel")
        request.predicate = Attribute("length") == Int32(step)
        request.propertiesToUpdate = ["length": step + 1]
        _ = try context.execute(request)
        let ferries = FetchRequest<ManagedObject>(
          entityName: "Ferry", predicate: Attribute("length") == Int32(step + 20))
        _ = try context.execute(BatchDeleteRequest(fetchRequest: ferries))
      }
    }
  }

  @Test func oneThatIsRemovedIsFoundByViewsThatHaveIt() async throws {
    let stand = try IndexStand(120)
    try await stand.add("byLength", "length")
    let pinned = stand.context()
    try pinned.performAndWait { try pinned.setQueryGenerationFrom(.current) }
    // The first read says which commit that is.
    try stand.requireSameAnswers(pinned)
    try await stand.remove("byLength")
    try stand.edit { context in
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel")) {
        object.setValue(30, forKey: "length")
      }
    }
    #expect(try stand.explain(pinned).indexName == "Vessel.byLength")
    try stand.requireSameAnswers(pinned)
    try stand.requireSameAnswers()
    // The same name for something else.
    try await stand.add("byLength", "built")
    try stand.requireSound()
    #expect(try stand.coordinator.indexes(in: stand.engine)[0].attributes.map(\.name) == ["built"])
  }

  @Test func wrongNamesAreRefusedWithWords() async throws {
    let stand = try IndexStand(10)
    func refusal(_ index: FetchIndexDescription, _ entity: String = "Vessel") async -> String {
      let copy = FetchIndexDescription(
        name: index.name,
        elements: index.elements.map {
          FetchIndexElementDescription(propertyName: $0.propertyName, collationType: $0.collationType)
        })
      do {
        try await stand.coordinator.addIndex(copy, toEntityNamed: entity, in: stand.engine)
        return "taken"
      } catch { return "\(error)" }
    }
    #expect(
      await refusal(.init(name: "a", attributes: ["length"]), "Boat").contains("no entity called “Boat”"))
    #expect(
      await refusal(.init(name: "a", attributes: ["depth"]))
        == "Index Vessel.a names depth, which the entity does not have.")
    #expect(
      await refusal(.init(name: "a", attributes: ["seats"])).contains("seats, which the entity does not have")
    )
    #expect(await refusal(.init(name: "a", attributes: ["plan"])).contains("which is transformable"))
    #expect(await refusal(.init(name: "a", attributes: [])).contains("names no attribute"))
    #expect(await refusal(.init(name: "a", attributes: ["length", "length"])).contains("a property twice"))
    #expect(await refusal(.init(name: "", attributes: ["length"])).contains("has no name"))
    #expect(await refusal(.init(name: "unique(mark)", attributes: ["length"])).contains("reserved"))
    #expect(
      await refusal(
        .init(
          name: "a", elements: [FetchIndexElementDescription(propertyName: "length", collationType: .rTree)])
      ).contains("is spatial"))
    #expect(await refusal(.init(name: "ok", attributes: ["length"])) == "taken")
    // Again is nothing new; another one of that name is.
    #expect(await refusal(.init(name: "ok", attributes: ["length"])) == "taken")
    #expect(await refusal(.init(name: "ok", attributes: ["name"])).contains("called “ok” already"))
    await #expect(throws: CoreDataError.self) { try await stand.remove("unknown") }
    await #expect(throws: CoreDataError.self) { try await stand.remove("unique(mark)") }
    let strange = try IndexStand(1)
    await #expect(throws: CoreDataError.self) {
      try await stand.coordinator.addIndex(
        FetchIndexDescription(name: "b", attributes: ["length"]), toEntityNamed: "Vessel", in: strange.engine)
    }
    #expect(try stand.names == ["Vessel.ok", "Vessel.unique(mark)"])
    stand.close()
    let reading = try IndexStand(0, in: stand, readOnly: true)
    await #expect(throws: CoreDataError.self) { try await reading.add("b", "length") }
    #expect(try reading.explain().indexName == "Vessel.ok")
  }

  /// A task that is cancelled leaves nothing behind.
  @Test func cancellingRemovesWhatWasBuilt() async throws {
    let stand = try IndexStand(400)
    let task = Task {
      try await stand.add("byLength", "length") { progress in
        if progress.completedRows >= 100 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try stand.names == ["Vessel.unique(mark)"])
    try stand.requireSound()
    try await stand.add("byLength", "length")
    #expect(try stand.explain().indexName == "Vessel.byLength")
    try stand.requireSound()
    // One that is there already does not go when its being added again is cancelled.
    let again = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await stand.add("byLength", "length")
    }
    await #expect(throws: CancellationError.self) { try await again.value }
    #expect(try stand.explain().indexName == "Vessel.byLength")
  }

  /// Building an index that another has removed meanwhile is an error, and does not bring it back.
  @Test func removingWhileItGrowsEndsTheBuilding() async throws {
    let stand = try IndexStand(200)
    let second = try IndexStand(0, in: stand)
    let hasRemoved = Guarded(false)
    let error = await #expect(throws: CoreDataError.self) {
      try await stand.add("byLength", "length") { progress in
        guard progress.completedRows == 50 else { return }
        let finished = DispatchSemaphore(value: 0)
        // This thread waits: the task must not need one of its kind.
        Task.detached(executorPreference: QueueExecutor("removes")) {
          try? await second.remove("byLength")
          hasRemoved.withLock { $0 = true }
          finished.signal()
        }
        finished.wait()
      }
    }
    #expect(error?.description.contains("was removed while it was being built") == true)
    #expect(hasRemoved.withLock { $0 })
    #expect(try stand.names == ["Vessel.unique(mark)"])
    try stand.requireSound()
  }

  // MARK: Opening again

  /// An index that was added stays, whether the model knows it or not; removing takes it away where the model does not want it.
  @Test func itStaysWhateverModelTheStoreIsOpenedWith() async throws {
    let first = try IndexStand(100)
    try await first.add("byLength", "length")
    first.close()
    let same = try IndexStand(0, in: first)
    #expect(try same.explain().indexName == "Vessel.byLength")
    same.close()
    // A model that declares it, too: then it is both's.
    func declaring(_ attribute: String) -> ManagedObjectModel {
      IndexStand.model(indexes: [FetchIndexDescription(name: "byLength", attributes: [attribute])])
    }
    let declared = try IndexStand(0, model: declaring("length"), in: first)
    #expect(try declared.coordinator.indexes(in: declared.engine).map(\.isDeclared) == [true, true])
    declared.close()
    let back = try IndexStand(0, in: first)
    #expect(try back.explain().indexName == "Vessel.byLength")
    try back.requireSound()
    back.close()
    let again = try IndexStand(0, model: declaring("length"), in: first)
    try await again.remove("byLength")
    #expect(try again.explain().indexName == "Vessel.byLength")
    await #expect(throws: CoreDataError.self) { try await again.remove("byLength") }
    again.close()
    // Now only the model wants it: an older model drops it, as before.
    let without = try IndexStand(0, in: first)
    #expect(try without.names == ["Vessel.unique(mark)"])
    // Another meaning under the same name: the model's counts.
    try await without.add("byLength", "length")
    without.close()
    let other = try IndexStand(0, model: declaring("built"), in: first)
    let indexes = try other.coordinator.indexes(in: other.engine)
    #expect(indexes[0].attributes.map(\.name) == ["built"] && !indexes[0].isAdded)
    try other.requireSound()
  }

  /// Two stacks of one process: what one adds the other keeps right from its next save on, and uses from its next fetch on.
  @Test func aSecondStackOfTheSameFileKeepsItRight() async throws {
    let first = try IndexStand(150)
    let second = try IndexStand(0, in: first)
    #expect(try second.explain().isScan)
    try await first.add("byLength", "length") { progress in
      do {
        try second.edit { context in
          try IndexStand.make(2_000 + progress.completedRows, context)
          let request = FetchRequest<ManagedObject>(entityName: "Vessel", fetchLimit: 1)
          try context.fetch(request).first.map { context.delete($0) }
        }
      } catch {
        Issue.record(error)
      }
    }
    try second.edit { _ = try IndexStand.make(9_001, $0) }
    for stand in [first, second] {
      try stand.requireSound()
      #expect(try stand.explain().indexName == "Vessel.byLength")
      try stand.requireSameAnswers()
    }
    try await second.remove("byLength")
    try second.edit { _ = try IndexStand.make(9_002, $0) }
    try first.requireSameAnswers()
    #expect(try first.explain().isScan)
    try first.requireSound()
  }

  /// Several at once, over the same rows.
  @Test func severalGrowSideBySide() async throws {
    let stand = try IndexStand(200)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for attribute in ["length", "name", "built"] {
        group.addTask { try await stand.add("by \(attribute)", attribute) }
        group.addTask { try await stand.add("by \(attribute)", attribute) }
      }
      try await group.waitForAll()
    }
    #expect(
      try stand.names == ["Vessel.by built", "Vessel.by length", "Vessel.by name", "Vessel.unique(mark)"])
    try stand.requireSound()
  }

  /// A model whose version is ignored may not have what an index was added for.
  @Test func theNameOfAnIndexThatMeansNothingIsFree() async throws {
    let folder = try TemporaryFolder()
    func open(_ names: [String], ignoringVersion: Bool = false) throws -> PersistentStoreCoordinator {
      let spot = EntityDescription("Spot", properties: names.map { AttributeDescription($0, .string) })
      let coordinator = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel(entities: [spot]))
      var description = PersistentStoreDescription(url: folder.url.appendingPathComponent("Spots.strata"))
      description.migratesAutomatically = false
      description.ignoresModelVersion = ignoringVersion
      try coordinator.addPersistentStore(description)
      return coordinator
    }
    func add(_ attribute: String, _ coordinator: PersistentStoreCoordinator) async throws {
      try await coordinator.addIndex(
        FetchIndexDescription(name: "byText", attributes: [attribute]), toEntityNamed: "Spot",
        in: coordinator.persistentStores[0])
    }
    let first = try open(["name", "note"])
    try await add("note", first)
    await #expect(throws: CoreDataError.self) { try await add("name", first) }
    try first.remove(first.persistentStores[0])
    let second = try open(["name"], ignoringVersion: true)
    try await add("name", second)
    let indexes = try second.indexes(in: second.persistentStores[0])
    #expect(indexes.map(\.name) == ["byText"] && indexes.first?.isComplete == true)
    #expect(indexes.first?.attributes.map(\.name) == ["name"])
    try second.remove(second.persistentStores[0])
  }
}
