import CoreData
import Testing

#if compiler(>=6.2)
  /// `DidSaveMessage`: a save of a context of the main queue as a typed message, with objects.
  @Suite("Did-save messages")
  struct SaveMessageTests {
    @Test(
      "rule 118: a save of the main queue's context sends its objects as a message"
    )
    @MainActor
    func objects() throws {
      let stand = try BirdStand()
      _ = try stand.stocked()
      let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      context.persistentStoreCoordinator = stand.coordinator
      var heard: [String] = []
      let one = NotificationCenter.default.addObserver(of: context, for: .didSave) { message in
        let names = [message.inserted, message.updated, message.deleted].map { set in
          set.compactMap { ($0 as? Bird)?.name }.sorted().joined(separator: " ")
        }
        heard.append(names.joined(separator: "|"))
        heard.append(
          "\(message.context == context) \(message.historyToken == nil) \(message.queryGeneration == nil)")
      }
      let birds = try context.fetch(Bird.fetchRequest()).sorted { $0.tally < $1.tally }
      BirdStand.bird("owl", 1, 1, nil, context)
      birds[0].tally = 100
      context.delete(birds[1])
      try context.save()
      #expect(heard == ["owl|robin|swan", "true true true"])
      NotificationCenter.default.removeObserver(one)
      birds[0].tally = 101
      try context.save()
      #expect(heard.count == 2)
    }

    @Test(
      "rule 118: so does a save in a block of the main queue, which is no task, and one that another queue waits for"
    )
    func blocks() async throws {
      let stand = try BirdStand()
      let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      context.persistentStoreCoordinator = stand.coordinator
      let count = await MainActor.run { Counter() }
      let token = NotificationCenter.default.addObserver(of: context, for: .didSave) { message in
        count.value += message.inserted.count
      }
      defer { NotificationCenter.default.removeObserver(token) }
      await withCheckedContinuation { continuation in
        DispatchQueue.main.async {
          BirdStand.bird("owl", 1, 1, nil, context)
          do { try context.save() } catch { Issue.record(error) }
          continuation.resume()
        }
      }
      #expect(await count.value == 1)
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          context.performAndWait {
            BirdStand.bird("wren", 1, 1, nil, context)
            do { try context.save() } catch { Issue.record(error) }
          }
          continuation.resume()
        }
      }
      #expect(await count.value == 2)
    }

    @MainActor private final class Counter { var value = 0 }

    @Test(
      "rule 118: a context of another queue sends none, its objects stay there; a notification of one is no message"
    )
    @MainActor
    func others() throws {
      let context = try BirdStand().stocked()
      var count = 0
      let token = NotificationCenter.default.addObserver(of: context, for: .didSave) { _ in count += 1 }
      defer { NotificationCenter.default.removeObserver(token) }
      let bird = try context.fetch(Bird.fetchRequest())[0]
      bird.tally += 1
      try context.save()
      #expect(count == 0)
      let note = Notification(
        name: .NSManagedObjectContextDidSave, object: context, userInfo: ["updated": Set([bird])])
      #expect(NSManagedObjectContext.DidSaveMessage.makeMessage(note) == nil)
    }

    @Test("A message and a notification are made of each other")
    @MainActor
    func forms() throws {
      let stand = try BirdStand()
      let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      context.persistentStoreCoordinator = stand.coordinator
      let bird = BirdStand.bird("owl", 1, 1, nil, context)
      let note = Notification(
        name: .NSManagedObjectContextDidSave, object: context,
        userInfo: [NSInsertedObjectsKey: Set([bird as NSManagedObject])])
      let message = try #require(NSManagedObjectContext.DidSaveMessage.makeMessage(note))
      #expect(message.inserted == [bird] && message.updated.isEmpty && message.deleted.isEmpty)
      let again = NSManagedObjectContext.DidSaveMessage.makeNotification(message)
      #expect(again.name == note.name && again.object as? NSManagedObjectContext == context)
      #expect(again.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> == [bird])
    }
  }
#endif
