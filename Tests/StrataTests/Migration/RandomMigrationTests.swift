import Foundation
import Strata
import Testing

/// Random models, random data, random changes that can be inferred: the migrated store holds what a plain conversion gives.
struct RandomMigrationTests {
  @Test(
    "rules 307, 308: a migrated store equals a plain conversion of its content",
    arguments: ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] }
      ?? Array(1...8))
  func equalsPlainConversion(seed: UInt64) throws {
    let rounds = Int(ProcessInfo.processInfo.environment["STRATA_STEPS"] ?? "") ?? 3
    print("migration seed \(seed), \(rounds) versions")
    var dice = Dice(seed: seed)
    let stand = try MigrationStand()
    var model = RandomModel(&dice)
    var content = try RandomContent.fill(stand.open(model.make()), model, &dice)
    for version in 1...rounds {
      let next = model.changed(&dice)
      let losses = content.losses(from: model, to: next)
      content = content.converted(from: model, to: next)
      do {
        // Without evidence exactly what takes something away is refused, with the right numbers.
        do {
          try stand.open(next.make())
          #expect(losses == [:], "seed \(seed), version \(version): \(losses) were lost")
        } catch let error as CoreDataError where error.errorUserInfo[MigrationPermission.lossesKey] != nil {
          let refused = error.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int]
          #expect(refused == losses, "seed \(seed), version \(version): \(error)")
        }
        let context = try stand.open(next.make()) { description in
          if dice.roll(2) == 0 {
            description.knownModels = [model.make()]
          } else {
            description.permittedLosses = Set(losses.keys)
          }
        }
        let found = try RandomContent.read(context, next)
        let difference = content.difference(from: found, next)
        #expect(difference == nil, "seed \(seed), version \(version): \(difference ?? "")")
        #expect(try stand.problems() == [], "seed \(seed), version \(version)")
        if difference != nil { return }
        // A relationship that has just got an order keeps the one that it was given.
        content = found
      } catch {
        Issue.record("seed \(seed), version \(version): \(error)")
        return
      }
      model = next
    }
  }
}
