import CoreData
import Testing

/// A bird that does something before it is saved.
private final class BusyBird: NSManagedObject {
  var beforeSaving: () -> Void = {}
  override func willSave() { beforeSaving() }
}

@Suite("save() inside a save of the same context")
struct SaveInSaveTests {
  private func code(_ context: NSManagedObjectContext) -> Int {
    do {
      try context.save()
      return 0
    } catch let error as CocoaError { return error.code.rawValue } catch { return -1 }
  }

  @Test("In an observer of the will-save notification it throws 132001, and the save continues")
  func observer() throws {
    let context = try BirdStand().stocked()
    // Safe: the observer is called on this thread, by the save.
    nonisolated(unsafe) var codes: [Int] = []
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextWillSave, object: context, queue: nil
    ) { [unowned context] _ in
      codes.append(code(context))
    }
    defer { NotificationCenter.default.removeObserver(token) }
    BirdStand.bird("dipper", 1, 1, nil, context)
    try context.save()
    #expect(codes == [132_001] && !context.hasChanges)
    #expect(try names(nil, in: context).contains("dipper"))
  }

  @Test("In willSave() it throws 132001, and the save continues")
  func hook() throws {
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = BusyBird.self }
    let context = stand.context()
    let bird = BusyBird(context: context)
    var codes: [Int] = []
    bird.beforeSaving = { codes.append(code(context)) }
    try context.save()
    #expect(codes == [132_001] && !context.hasChanges)
  }
}
