import CoreData
import Foundation
import Testing

/// The ported library at work. These tests are compiled with it in Swift 5 and in Swift 6 mode.
@Suite("A ported library", .serialized)
struct LedgerChecks {
  let stack: CoreDataStack

  init() throws {
    stack = CoreDataStack(
      name: "Ledger", model: try CoreDataStack.model(named: "Ledger", in: Bundle.module), kind: .inMemory)
    try stack.load()
  }

  func context() -> NSManagedObjectContext { stack.makeBackgroundContext() }

  @discardableResult
  func entry(
    _ text: String, _ amount: String, _ date: TimeInterval, _ account: Account,
    _ context: NSManagedObjectContext
  ) -> Entry {
    let entry = Entry(text: text, amount: NSDecimalNumber(string: amount), in: account, context: context)
    entry.bookedAt = Date(timeIntervalSinceReferenceDate: date)
    return entry
  }

  // MARK: The stack

  @Test("The stack loads, counts saves by an observer with a selector, and tells its own observers")
  func stackAtWork() throws {
    #expect(stack.isLoaded && stack.loadError == nil)
    let context = context()
    #expect(context is ObservedContext && context.kindDescription == "private")
    var told: [SaveSummary] = []
    let id = stack.container.observers.add { told.append($0) }
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: context)
      entry("coffee", "-2.50", 0, account, context)
      try context.saveIfNeeded()
      account.note = "pocket"
      try context.saveIfNeeded()
      try context.saveIfNeeded()
    }
    stack.container.observers.remove(id)
    #expect(told == [SaveSummary(inserted: 2), SaveSummary(updated: 1)])
    #expect(stack.savedNotifications == 2)
    try stack.setMetadata("7", forKey: "schema")
    #expect(stack.metadata(forKey: "schema") as? String == "7")
  }

  @Test("A read-only context refuses, whoever saves it; contexts above one another save down to the store")
  func readOnly() throws {
    let context = try #require(context() as? ObservedContext)
    context.performAndWait {
      context.isReadOnly = true
      let account = Account(name: "Cash", kind: .savings, context: context)
      let plain: NSManagedObjectContext = context
      #expect(throws: CoreDataStackError.self) { try plain.save() }
      #expect(!plain.saveOrRollback() && account.managedObjectContext == nil)
    }
    let above = self.context()
    let child = above.makeChild()
    try child.performAndWait {
      _ = Account(name: "Child", kind: .credit, context: child)
      try child.saveToStore()
    }
    let other = self.context()
    let count = try other.performAndWait { try Account.count(in: other) }
    #expect(count == 1)
  }

  @Test("Blocks in the background, awaited and not")
  func background() async throws {
    let id = try await stack.performInBackground { context -> NSManagedObjectID in
      let account = Account(name: "Cash", kind: .checking, context: context)
      try context.save()
      return account.objectID
    }
    let count = try await stack.performInBackground { context in
      try context.objects(with: [id], as: Account.self).count
    }
    #expect(count == 1)
    let failed: Bool = await withCheckedContinuation { done in
      stack.performInBackground(
        { context in
          _ = Account(name: "   ", kind: .checking, context: context)
        },
        completion: { result in
          if case .failure(let error as NSError) = result {
            done.resume(returning: error.domain == LedgerError.domain)
          } else {
            done.resume(returning: false)
          }
        })
    }
    #expect(failed)
  }

  // MARK: Objects

  @Test("Objects: defaults, enumerations, validation by name, cascades, primitives")
  func objects() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: " Cash ", kind: .credit, context: context)
      #expect(account.identifier != nil && account.createdAt != nil && account.kindValue == 2)
      let coffee = entry("  coffee", "-2.50", 0, account, context)
      coffee.options = [.cleared, .flagged]
      let receipt = Attachment(context: context)
      receipt.bytes = Data([1, 2, 3])
      coffee.insertIntoAttachments(receipt, at: 0)
      try context.save()
      #expect(account.name == "Cash" && coffee.text == "coffee" && receipt.size == 3)
      #expect(coffee.options.contains(.flagged) && coffee.flags == 3)
      #expect(account.value(forKey: "balance") as? NSDecimalNumber == NSDecimalNumber(string: "-2.5"))
      #expect(
        account.value(forKey: "kindTitle") as? String == "Credit"
          && account.value(forKey: "initial") as? String == "C")
      #expect(coffee.value(forKeyPath: "account.kindTitle") as? String == "Credit" && !coffee.isIncome)
      account.isLocked = true
      try context.save()
      context.delete(account)
      #expect {
        try context.save()
      } throws: {
        ($0 as NSError).code == LedgerError.lockedAccount.rawValue
          && ($0 as NSError).domain == LedgerError.domain
      }
      context.rollback()
      account.isLocked = false
      context.delete(account)
      try context.save()
      #expect(try Entry.count(in: context) == 0)
      #expect(try Attachment.count(in: context) == 0)
    }
  }

  @Test("Relationships to objects without a class, sets of a class, protocols of the library")
  func relationships() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: context)
      let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
      note.setValue("remember", forKey: "body")
      let coffee = entry("coffee", "-2", 0, account, context)
      coffee.related = note
      let tag = Tag.insert(into: context) { $0.name = "food" }
      coffee.tags = [tag]
      account.addToTags(tag)
      try context.save()
      #expect(coffee.related?.value(forKey: "body") as? String == "remember" && tag.usage == 2)
      #expect(tag.value(forKey: "usage") as? Int == 2)
      let shown: [Displayable] = [account, coffee, tag]
      #expect(shown.map(\.displayTitle) == ["Cash", "coffee -2", "food"])
      #expect(shown[0].displaySubtitle == "Checking" && shown[2].displaySubtitle == nil)
      let person = Person.insert(into: context) { $0.email = "no address" }
      #expect(throws: (any Error).self) { try context.save() }
      person.email = "a@b.example"
      person.givenName = "Ada"
      account.owner = person
      try context.save()
      #expect(account.value(forKeyPath: "owner.fullName") as? String == "Ada" && person.accounts == [account])
    }
  }

  // MARK: Queries

  func stock(_ context: NSManagedObjectContext) throws {
    for (index, name) in ["Bank", "Cash", "Broker", "Card"].enumerated() {
      let account = Account(
        name: name, kind: AccountKind(rawValue: Int16(index % 3)) ?? .checking, context: context)
      for number in 0..<3 {
        entry("\(name) \(number)", "\(index * 10 + number)", Double(number) * 86_400 * 31, account, context)
      }
    }
    try context.save()
  }

  @Test("Finders of every class, aggregates, counts by value, distinct values")
  func finders() throws {
    let context = context()
    try context.performAndWait {
      try stock(context)
      let all = try NSManagedObject.lk_findAll(Account.self, sortedBy: "kindValue, name", in: context)
      #expect(all.map { $0.name ?? "" } == ["Bank", "Card", "Cash", "Broker"])
      #expect(
        try NSManagedObject.lk_findFirst(Account.self, by: "name", withValue: "Cash", in: context)?.kind
          == .savings)
      #expect(
        try NSManagedObject.lk_count(
          Entry.self, matching: NSPredicate(format: "account.name == 'Card'"), in: context) == 3)
      #expect(
        try NSManagedObject.lk_aggregate("sum:", of: "amount", entity: "Entry", in: context)?.doubleValue
          == 192)
      #expect(
        try NSManagedObject.lk_aggregate("max:", of: "amount", entity: "Entry", in: context)?.intValue == 32)
      #expect(
        try NSManagedObject.lk_counts(by: "kindValue", entity: "Account", in: context) == [
          "0": 2, "1": 1, "2": 1,
        ])
      #expect(try NSManagedObject.lk_distinctValues(of: "name", entity: "Account", in: context).count == 4)
      let made = Account.lk_create(in: context)
      #expect(type(of: made) == Account.self)
      made.lk_delete()
      let bank = try #require(all.first)
      bank.note = "new"
      #expect(bank.lk_changes["note"]?.new as? String == "new" && bank.lk_changes.count == 1)
      bank.lk_refresh(merging: false)
      #expect(bank.note == nil)
      try NSManagedObject.lk_truncate(entity: "Entry", in: context)
      try context.save()
      #expect(try Entry.count(in: context) == 0)
    }
  }

  @Test("Queries put together by keys, formats and lists of arguments")
  func queries() throws {
    let context = context()
    try context.performAndWait {
      try stock(context)
      let accounts = Query<Account>(context).filter(
        Account.Keys.name.hasPrefix("b") || Account.Keys.kind == 1
      )
      .sorted(by: "name")
      #expect(try accounts.all().map { $0.name ?? "" } == ["Bank", "Broker", "Cash"])
      #expect(try accounts.filter(!Account.Keys.name.contains("ank")).count() == 2)
      #expect(accounts.parts.count == 2)
      #expect(try accounts.limited(to: 1, from: 1).first()?.name == "Broker")
      #expect(
        try Query<Account>(context).filter(Account.Keys.name.isIn(["Card", "Cash", "x"])).objectIDs().count
          == 2)
      #expect(
        try Query<Account>(context).filter("%K == %@ OR kindValue > %d", "name", "Bank", 1).count() == 2)
      #expect(try Query<Account>(context).filter(Account.Keys.name.matches("C.*")).count() == 2)
      #expect(
        try Query<Entry>(context).filter(Entry.Keys.amount.between(10, 12)).prefetching("account").count()
          == 3)
      let first = try #require(try Query<Entry>(context).sorted(by: "amount", ascending: false).first())
      first.options = [.cleared, .imported]
      try context.save()
      #expect(try Query<Entry>(context).filter(Entry.having([.imported])).all() == [first])
      #expect(try Query<Entry>(context).filter(Entry.having([.imported, .flagged])).count() == 0)
      #expect(try Query<Account>(context).filter(Account.Keys.ownerName.isNil).delete() == 4)
    }
  }

  @Test("Generic code: find or create, the same object elsewhere, repositories and their errors")
  func repositories() throws {
    let context = context()
    let repository = AccountRepository(context: context)
    let account = try repository.create { $0.name = "Cash" }
    let id = account.objectID
    #expect(try repository.account(named: "Cash") === account)
    #expect(throws: RepositoryError.invalid("name")) { try repository.create { _ in } }
    try repository.book("coffee", "-3", in: account)
    let lines = try repository.perform { account.entries?.count }
    #expect(lines == 1)
    #expect(try repository.locked().isEmpty)
    let other = self.context()
    try other.performAndWait {
      let same = try #require(try account.inContext(other))
      #expect(same !== account && same.name == "Cash")
      let predicate = NSPredicate(format: "name == %@", "Bank")
      let made = try Account.findOrCreate(in: other, matching: predicate) { $0.name = "Bank" }
      #expect(
        try Account.findOrCreate(in: other, matching: predicate) { _ in Issue.record("made again") } === made)
    }
    #expect(throws: RepositoryError.wrongContext) { try AccountRepository(context: other).delete(account) }
    try repository.delete(account)
    #expect(try repository.all().isEmpty)
    #expect(throws: RepositoryError.notFound) { try repository.get(id) }
    let tags = Repository<Tag>(context: context)
    try tags.create { $0.name = "food" }
    context.performAndWait { context.mergePolicy = NSErrorMergePolicy }
    #expect(throws: RepositoryError.invalid("name")) { try tags.create { $0.name = "food" } }
  }

  @Test("Batches delete and update, and contexts are told")
  func batches() throws {
    let context = context()
    try context.performAndWait {
      try stock(context)
      let bank = try #require(try Query<Account>(context).filter(Account.Keys.name == "Bank").first())
      let changed = try context.batchUpdate(
        entity: "Account", set: ["note": "checked"], matching: NSPredicate(format: "name BEGINSWITH 'B'"))
      #expect(changed == 2 && bank.note == "checked")
      #expect(
        try context.batchDelete(Entry.self, matching: NSPredicate(format: "account.name == 'Bank'")) == 3)
      #expect(bank.entries?.count == 0)
      #expect(try Entry.count(in: context) == 9)
    }
  }

  // MARK: Lists

  @Test("Sections of a computed property, of a transient one, and of another object's")
  func lists() throws {
    let context = context()
    try context.performAndWait {
      try stock(context)
      let accounts = AccountIndexController(context: context)
      try accounts.reload()
      #expect(accounts.outline { $0.name ?? "" } == ["B: Bank, Broker", "C: Card, Cash"])
      #expect(accounts.indexTitles == ["B", "C"] && accounts.section(forTitle: "C") == 1)
      _ = Account(name: "Attic", kind: .savings, context: context)
      context.processPendingChanges()
      #expect(accounts.changes == [[.insertSection(0), .insert(IndexPath(indexes: [0, 0]))]])
      #expect(
        accounts.numberOfSections == 3 && accounts.title(ofSection: 0) == "A"
          && accounts.numberOfItems(in: 1) == 2)
      try accounts.filter(NSPredicate(format: "name BEGINSWITH 'B'"))
      #expect(accounts.numberOfSections == 1 && accounts[IndexPath(indexes: [0, 1])].name == "Broker")

      let journal = JournalController(context: context, account: accounts[IndexPath(indexes: [0, 0])])
      try journal.reload()
      #expect(journal.outline { $0.text ?? "" } == ["2001-03: Bank 2", "2001-02: Bank 1", "2001-01: Bank 0"])

      let byAccount = AccountJournalController(context: context)
      try byAccount.reload()
      #expect(byAccount.numberOfSections == 4 && byAccount.title(ofSection: 0) == "Bank")
      accounts[IndexPath(indexes: [0, 0])].name = "Zinc"
      context.processPendingChanges()
      #expect(byAccount.title(ofSection: 3) == "Zinc" && byAccount.numberOfItems(in: 3) == 3)
    }
  }

  @Test("One object is watched, and not held")
  func watching() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: context)
      try context.save()
      var seen: [ObjectObserver.ChangeType] = []
      var observer = ObjectObserver(object: account) { seen.append($0) }
      account.note = "x"
      context.processPendingChanges()
      context.delete(account)
      context.processPendingChanges()
      #expect(observer != nil && seen == [.update, .delete])
      observer = nil
      context.rollback()
      #expect(seen.count <= 3)
    }
  }
}
