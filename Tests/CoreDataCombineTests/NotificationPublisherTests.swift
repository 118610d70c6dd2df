import CoreDataCombine
import Testing

@Suite("Publishers of notifications, by Combine's plain names")
struct NotificationPublisherTests {
  @Test("publisher(for:object:) sends a context's notifications, and no other context's")
  func notifications() throws {
    let library = try Library()
    let inserted = Received<Int>()
    let publisher: NotificationCenter.Publisher = NotificationCenter.default
      .publisher(for: .NSManagedObjectContextDidSave, object: library.context)
    let subscription =
      publisher
      .compactMap { $0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> }
      .map(\.count)
      .sink { inserted.values.append($0) }
    try library.withBook { _, _ in }
    #expect(inserted.take() == [1])
    try library.sibling.performAndWait {
      _ = Paperback(context: library.sibling)
      try library.sibling.save()
    }
    #expect(inserted.take() == [])
    subscription.cancel()
  }

  @Test("Operators, subjects and type erasure are those of Combine")
  func operators() throws {
    try Library().withBook { book, _ in
      let subject = CurrentValueSubject<String, Never>("at first")
      let subscription = book.publisher(for: \.title)
        .compactMap { $0 }
        .map { $0.uppercased() }
        .removeDuplicates()
        .eraseToAnyPublisher()
        .subscribe(subject)
      #expect(subject.value == "EMMA")
      let shelf = NameCard()
      let assignment = book.publisher(for: \.title).assign(to: \.name, on: shelf)
      book.title = "Evelina"
      #expect(subject.value == "EVELINA")
      #expect(shelf.name == "Evelina")
      _ = (subscription, assignment)
    }
  }
}

private final class NameCard {
  var name: String?
}
