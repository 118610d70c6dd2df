/// What the runs of one size become in the file of results.
struct BatchFigures {
  var size: Int
  var seconds: [BatchContender: [BatchJob: [Double]]]
  var processor: [BatchContender: [BatchJob: [Double]]]

  var all: [Figure?] {
    BatchJob.allCases.flatMap { job in
      BatchContender.allCases.flatMap { contender -> [Figure?] in
        [
          .seconds(job.rawValue, size: size, contender.rawValue, times(contender, job), .milliseconds),
          .seconds(
            job.rawValue, size: size, contender.rawValue, as: .processorTime,
            processor[contender]?[job] ?? [],
            .milliseconds),
        ] + (contender == .rows || contender == .quiet ? multiples(contender, job) : [])
      }
    }
  }

  /// To be nearly as fast as what was written by hand is enough; else it has to be that much faster than GRDB, an insert than objects, too.
  private func multiples(_ contender: BatchContender, _ job: BatchJob) -> [Figure?] {
    let (name, own) = (job.rawValue, times(contender, job).median)
    func longer(than other: BatchContender, _ required: Bound?) -> Figure? {
      .multiple(
        name, size: size, contender.rawValue, as: .time, own / times(other, job).median, of: other.rawValue,
        required: required)
    }
    return [
      .multiple(
        name, size: size, contender.rawValue, times(.grdb, job).median / own,
        of: BatchContender.grdb.rawValue, required: .atLeast(job == .insert ? 6 : 3)),
      longer(than: .objects, job == .insert ? .atMost(0.6) : nil), longer(than: .floor, .atMost(1.3)),
    ]
  }

  private func times(_ contender: BatchContender, _ job: BatchJob) -> [Double] {
    seconds[contender]?[job] ?? []
  }
}
